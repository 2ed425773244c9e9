// `if` and `case`.
// argument int64 1
// argument float64 [0.3, -0.7, 1.2, 0.1]
// argument float64 0.4
// result float64 [0.6, -1.4, 2.4, 0.2]
// result float64 [0.6, -1.4, 2.4, 0.2]
module @jit__lambda {
  func.func public @main(%arg0: tensor<i64>, %arg1: tensor<4xf64>, %arg2: tensor<f64>) -> (tensor<4xf64>, tensor<4xf64>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.compare GT, %arg2, %cst, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %1 = stablehlo.convert %0 : (tensor<i1>) -> tensor<i32>
    %2 = "stablehlo.case"(%1) ({
      %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
      %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4xf64>
      %7 = stablehlo.subtract %arg1, %6 : tensor<4xf64>
      stablehlo.return %7 : tensor<4xf64>
    }, {
      %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
      %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4xf64>
      %7 = stablehlo.multiply %arg1, %6 : tensor<4xf64>
      stablehlo.return %7 : tensor<4xf64>
    }) : (tensor<i32>) -> tensor<4xf64>
    %3 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<2> : tensor<i32>
    %4 = stablehlo.clamp %c, %3, %c_0 : tensor<i32>
    %5 = "stablehlo.case"(%4) ({
      stablehlo.return %arg1 : tensor<4xf64>
    }, {
      %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
      %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4xf64>
      %7 = stablehlo.multiply %arg1, %6 : tensor<4xf64>
      stablehlo.return %7 : tensor<4xf64>
    }, {
      %6 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f64>) -> tensor<4xf64>
      %7 = stablehlo.multiply %arg1, %6 : tensor<4xf64>
      stablehlo.return %7 : tensor<4xf64>
    }) : (tensor<i32>) -> tensor<4xf64>
    return %2, %5 : tensor<4xf64>, tensor<4xf64>
  }
}
