// Functions of CHLO.
// argument float64 [0.3, -0.7, 1.2, 0.1]
// result float64 [0.6963502118431419, -3.3192701620360747, 3.993134936910721, -0.1499183435506144]
module @jit__lambda {
  func.func public @main(%arg0: tensor<4xf64>) -> (tensor<4xf64>) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<4xf64>
    %2 = chlo.lgamma %1 : tensor<4xf64> -> tensor<4xf64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %4 = stablehlo.add %arg0, %3 : tensor<4xf64>
    %5 = chlo.digamma %4 : tensor<4xf64> -> tensor<4xf64>
    %6 = stablehlo.add %2, %5 : tensor<4xf64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %8 = stablehlo.divide %arg0, %7 : tensor<4xf64>
    %9 = chlo.erf_inv %8 : tensor<4xf64> -> tensor<4xf64>
    %10 = stablehlo.add %6, %9 : tensor<4xf64>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %12 = stablehlo.divide %arg0, %11 : tensor<4xf64>
    %13 = chlo.atanh %12 : tensor<4xf64> -> tensor<4xf64>
    %14 = stablehlo.add %10, %13 : tensor<4xf64>
    %15 = chlo.erf %arg0 : tensor<4xf64> -> tensor<4xf64>
    %16 = stablehlo.add %14, %15 : tensor<4xf64>
    %17 = chlo.erfc %arg0 : tensor<4xf64> -> tensor<4xf64>
    %18 = stablehlo.subtract %16, %17 : tensor<4xf64>
    return %18 : tensor<4xf64>
  }
}
