// A Gaussian's log density, by LAPACK's Cholesky factorisation.
// argument float64 [0.3, -0.7, 1.2, 0.1]
// argument float64 [[1.167, 0.08, -0.508, -1.095], [0.08, 1.043, 0.006, -0.031], [-0.508, 0.006, 2.021, 1.035], [-1.095, -0.031, 1.035, 4.101]]
// result float64 -5.350647256664868
module @jit__lambda {
  func.func public @main(%arg0: tensor<4xf64>, %arg1: tensor<4x4xf64>) -> (tensor<f64>) {
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %1 = stablehlo.convert %0 : tensor<4xf64>
    %2 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<4x4xf64>) -> tensor<4x4xf64>
    %3 = stablehlo.add %arg1, %2 : tensor<4x4xf64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %5 = stablehlo.divide %3, %4 : tensor<4x4xf64>
    %6:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%5) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<i32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %8 = stablehlo.compare EQ, %6#1, %7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %cst_1 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<4x4xi1>
    %12 = stablehlo.select %11, %6#0, %10 : tensor<4x4xi1>, tensor<4x4xf64>
    %13 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %14 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %15 = stablehlo.add %13, %14 : tensor<4x4xi64>
    %16 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %17 = stablehlo.compare GE, %15, %16, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %19 = stablehlo.select %17, %12, %18 : tensor<4x4xi1>, tensor<4x4xf64>
    %20 = stablehlo.subtract %arg0, %1 : tensor<4xf64>
    %21 = stablehlo.broadcast_in_dim %20, dims = [1] : (tensor<4xf64>) -> tensor<1x4xf64>
    %22 = stablehlo.custom_call @lapack_dtrsm_ffi(%19, %21) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}} : (tensor<4x4xf64>, tensor<1x4xf64>) -> tensor<1x4xf64>
    %23 = stablehlo.reshape %22 : (tensor<1x4xf64>) -> tensor<4xf64>
    %24 = stablehlo.dot_general %23, %23, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4xf64>, tensor<4xf64>) -> tensor<f64>
    %cst_4 = stablehlo.constant dense<-5.000000e-01> : tensor<f64>
    %25 = stablehlo.multiply %cst_4, %24 : tensor<f64>
    %cst_5 = stablehlo.constant dense<6.2831853071795862> : tensor<f64>
    %26 = stablehlo.log %cst_5 : tensor<f64>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %27 = stablehlo.multiply %cst_6, %26 : tensor<f64>
    %28 = stablehlo.convert %27 : tensor<f64>
    %29 = stablehlo.subtract %25, %28 : tensor<f64>
    %30 = call @diagonal(%19) : (tensor<4x4xf64>) -> tensor<4xf64>
    %31 = stablehlo.log %30 : tensor<4xf64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %32 = stablehlo.reduce(%31 init: %cst_7) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %33 = stablehlo.subtract %29, %32 : tensor<f64>
    return %33 : tensor<f64>
  }
  func.func private @diagonal(%arg0: tensor<4x4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi64>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.convert %4 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %6 = "stablehlo.case"(%c_0) ({
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_1 : tensor<i32>
    }, {
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_1 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %7 = "stablehlo.case"(%6) ({
      %8 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x4xf64>) -> tensor<4x4xf64>
      %9 = stablehlo.iota dim = 0 : tensor<4xi64>
      %10 = stablehlo.iota dim = 0 : tensor<4xi64>
      %c_1 = stablehlo.constant dense<0> : tensor<i64>
      %11 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<4xi64>
      %12 = stablehlo.compare LT, %9, %11, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
      %c_2 = stablehlo.constant dense<4> : tensor<i64>
      %13 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<4xi64>
      %14 = stablehlo.add %9, %13 : tensor<4xi64>
      %15 = stablehlo.select %12, %14, %9 : tensor<4xi1>, tensor<4xi64>
      %c_3 = stablehlo.constant dense<0> : tensor<i64>
      %16 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i64>) -> tensor<4xi64>
      %17 = stablehlo.compare LT, %10, %16, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
      %c_4 = stablehlo.constant dense<4> : tensor<i64>
      %18 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<4xi64>
      %19 = stablehlo.add %10, %18 : tensor<4xi64>
      %20 = stablehlo.select %17, %19, %10 : tensor<4xi1>, tensor<4xi64>
      %21 = stablehlo.convert %15 : (tensor<4xi64>) -> tensor<4xi32>
      %22 = stablehlo.convert %20 : (tensor<4xi64>) -> tensor<4xi32>
      %23 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
      %24 = stablehlo.broadcast_in_dim %22, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
      %25 = stablehlo.concatenate %23, %24, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
      %26 = "stablehlo.gather"(%8, %25) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf64>, tensor<4x2xi32>) -> tensor<4xf64>
      stablehlo.return %26 : tensor<4xf64>
    }) : (tensor<i32>) -> tensor<4xf64>
    return %7 : tensor<4xf64>
  }
}
