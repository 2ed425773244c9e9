// Gathers and scatters, one of which reaches beyond the end.
// argument float64 [0.3, -0.7, 1.2, 0.1]
// argument float64 [[-0.6, -0.457, -0.314], [-0.171, -0.029, 0.114], [0.257, 0.4, 0.543], [0.686, 0.829, 0.971]]
// argument int64 [2, 0, 3]
// result float64 [[0.257, 0.4], [-0.6, -0.457], [0.686, 0.829]]
// result float64 [1.3, -0.7, 2.2, 1.1]
// result float64 [0.3, -0.7, 1.2, 7.0]
// result float64 [0.8999999999999999, -0.7, 3.5999999999999996, 0.1]
// result float64 [-0.7, 1.2, 0.1]
module @jit__lambda {
  func.func public @main(%arg0: tensor<4xf64>, %arg1: tensor<4x3xf64>, %arg2: tensor<3xi64>) -> (tensor<3x2xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<3xf64>) {
    %c = stablehlo.constant dense<[3, 9]> : tensor<2xi64>
    %c_0 = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<3xi64>
    %1 = stablehlo.compare LT, %arg2, %0, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
    %c_2 = stablehlo.constant dense<4> : tensor<i64>
    %2 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<3xi64>
    %3 = stablehlo.add %arg2, %2 : tensor<3xi64>
    %4 = stablehlo.select %1, %3, %arg2 : tensor<3xi1>, tensor<3xi64>
    %5 = stablehlo.convert %4 : (tensor<3xi64>) -> tensor<3xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<3x1xi32>
    %8 = stablehlo.concatenate %6, %7, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
    %9 = "stablehlo.gather"(%arg1, %8) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<4x3xf64>, tensor<3x2xi32>) -> tensor<3x2xf64>
    %c_4 = stablehlo.constant dense<0> : tensor<i64>
    %10 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<3xi64>
    %11 = stablehlo.compare LT, %arg2, %10, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %12 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i64>) -> tensor<3xi64>
    %13 = stablehlo.add %arg2, %12 : tensor<3xi64>
    %14 = stablehlo.select %11, %13, %arg2 : tensor<3xi1>, tensor<3xi64>
    %15 = stablehlo.convert %14 : (tensor<3xi64>) -> tensor<3xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %18 = "stablehlo.scatter"(%arg0, %16, %17) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f64>, %arg4: tensor<f64>):
      %43 = stablehlo.add %arg3, %arg4 : tensor<f64>
      stablehlo.return %43 : tensor<f64>
    }) : (tensor<4xf64>, tensor<3x1xi32>, tensor<3xf64>) -> tensor<4xf64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %19 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %20 = stablehlo.compare LT, %c, %19, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %c_7 = stablehlo.constant dense<4> : tensor<i64>
    %21 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %22 = stablehlo.add %c, %21 : tensor<2xi64>
    %23 = stablehlo.select %20, %22, %c : tensor<2xi1>, tensor<2xi64>
    %24 = stablehlo.convert %23 : (tensor<2xi64>) -> tensor<2xi32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %cst_8 = stablehlo.constant dense<7.000000e+00> : tensor<f64>
    %26 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %27 = "stablehlo.scatter"(%arg0, %25, %26) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f64>, %arg4: tensor<f64>):
      stablehlo.return %arg4 : tensor<f64>
    }) : (tensor<4xf64>, tensor<2x1xi32>, tensor<2xf64>) -> tensor<4xf64>
    %c_9 = stablehlo.constant dense<0> : tensor<i64>
    %28 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %29 = stablehlo.compare LT, %c_0, %28, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %c_10 = stablehlo.constant dense<4> : tensor<i64>
    %30 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %31 = stablehlo.add %c_0, %30 : tensor<2xi64>
    %32 = stablehlo.select %29, %31, %c_0 : tensor<2xi1>, tensor<2xi64>
    %33 = stablehlo.convert %32 : (tensor<2xi64>) -> tensor<2xi32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %cst_11 = stablehlo.constant dense<3.000000e+00> : tensor<f64>
    %35 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %36 = "stablehlo.scatter"(%arg0, %34, %35) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<f64>, %arg4: tensor<f64>):
      %43 = stablehlo.multiply %arg3, %arg4 : tensor<f64>
      stablehlo.return %43 : tensor<f64>
    }) : (tensor<4xf64>, tensor<2x1xi32>, tensor<2xf64>) -> tensor<4xf64>
    %37 = stablehlo.slice %arg2 [0:1] : (tensor<3xi64>) -> tensor<1xi64>
    %38 = stablehlo.reshape %37 : (tensor<1xi64>) -> tensor<i64>
    %c_12 = stablehlo.constant dense<0> : tensor<i64>
    %39 = stablehlo.compare LT, %38, %c_12, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %c_13 = stablehlo.constant dense<4> : tensor<i64>
    %40 = stablehlo.add %38, %c_13 : tensor<i64>
    %41 = stablehlo.select %39, %40, %38 : tensor<i1>, tensor<i64>
    %42 = stablehlo.dynamic_slice %arg0, %41, sizes = [3] : (tensor<4xf64>, tensor<i64>) -> tensor<3xf64>
    return %9, %18, %27, %36, %42 : tensor<3x2xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<3xf64>
  }
}
