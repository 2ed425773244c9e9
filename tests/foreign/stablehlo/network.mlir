// A network of one layer.
// argument float64 [[-0.6, -0.457, -0.314]]
// argument float64 [0.3, -0.7, 1.2]
// argument float64 [-0.6, -0.457, -0.314]
// result float64 [-1.5471423963550934, -1.3421333915678118, -1.156339865765912, -0.9903604963985381, -0.8441610099635279]
module @jit__lambda {
  func.func public @main(%arg0: tensor<1x3xf64>, %arg1: tensor<3xf64>, %arg2: tensor<3xf64>) -> (tensor<5xf64>) {
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i64>
    %0 = call @_linspace(%c, %c_0) : (tensor<i64>, tensor<i64>) -> tensor<5xf64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<5xf64>) -> tensor<5x1xf64>
    %2 = stablehlo.dot_general %1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x1xf64>, tensor<1x3xf64>) -> tensor<5x3xf64>
    %3 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x3xf64>) -> tensor<5x3xf64>
    %5 = stablehlo.add %2, %4 : tensor<5x3xf64>
    %6 = call @softplus(%5) : (tensor<5x3xf64>) -> tensor<5x3xf64>
    %7 = stablehlo.dot_general %6, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x3xf64>, tensor<3xf64>) -> tensor<5xf64>
    return %7 : tensor<5xf64>
  }
  func.func private @_linspace(%arg0: tensor<i64>, %arg1: tensor<i64>) -> tensor<5xf64> {
    %0 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<f64>
    %1 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f64>
    %2 = stablehlo.iota dim = 0 : tensor<4xf64>
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %4 = stablehlo.divide %2, %3 : tensor<4xf64>
    %5 = stablehlo.reshape %0 : (tensor<f64>) -> tensor<1xf64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %7 = stablehlo.subtract %6, %4 : tensor<4xf64>
    %8 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<1xf64>) -> tensor<4xf64>
    %9 = stablehlo.multiply %8, %7 : tensor<4xf64>
    %10 = stablehlo.reshape %1 : (tensor<f64>) -> tensor<1xf64>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<1xf64>) -> tensor<4xf64>
    %12 = stablehlo.multiply %11, %4 : tensor<4xf64>
    %13 = stablehlo.add %9, %12 : tensor<4xf64>
    %14 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %15 = stablehlo.concatenate %13, %14, dim = 0 : (tensor<4xf64>, tensor<1xf64>) -> tensor<5xf64>
    return %15 : tensor<5xf64>
  }
  func.func private @softplus(%arg0: tensor<5x3xf64>) -> tensor<5x3xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<5x3xf64>
    %1 = stablehlo.maximum %arg0, %0 : tensor<5x3xf64>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<5x3xf64>
    %3 = stablehlo.subtract %arg0, %2 : tensor<5x3xf64>
    %4 = stablehlo.compare NE, %3, %3, FLOAT : (tensor<5x3xf64>, tensor<5x3xf64>) -> tensor<5x3xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<5x3xf64>
    %6 = stablehlo.add %arg0, %5 : tensor<5x3xf64>
    %7 = stablehlo.abs %3 : tensor<5x3xf64>
    %8 = stablehlo.negate %7 : tensor<5x3xf64>
    %9 = stablehlo.exponential %8 : tensor<5x3xf64>
    %10 = stablehlo.log_plus_one %9 : tensor<5x3xf64>
    %11 = stablehlo.add %1, %10 : tensor<5x3xf64>
    %12 = stablehlo.select %4, %6, %11 : tensor<5x3xi1>, tensor<5x3xf64>
    return %12 : tensor<5x3xf64>
  }
}
