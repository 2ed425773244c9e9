// Cumulative sums and extremes, pooling, a convolution.
// argument float64 [0.3, -0.7, 1.2, 0.1]
// argument float64 [[-0.6, -0.457, -0.314], [-0.171, -0.029, 0.114], [0.257, 0.4, 0.543], [0.686, 0.829, 0.971]]
// result float64 [0.3, -0.39999999999999997, 0.8, 0.9]
// result float64 [1.2, 1.2, 1.2, 0.1]
// result float64 [[-0.029, 0.114, 0.114], [0.4, 0.543, 0.543], [0.829, 0.971, 0.971], [0.829, 0.971, 0.971]]
// result float64 [[[[0.598931, 0.41935100000000003, 0.16890599999999997], [0.06030600000000001, -0.118845, -0.161253], [-0.478347, -0.658069, -0.49184100000000003], [-0.7904530000000001, -0.941147, -0.5826]]]]
module @jit__lambda {
  func.func public @main(%arg0: tensor<4xf64>, %arg1: tensor<4x3xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4x3xf64>, tensor<1x1x4x3xf64>) {
    %0 = call @cumsum(%arg0) : (tensor<4xf64>) -> tensor<4xf64>
    %1 = call @cummax(%arg0) : (tensor<4xf64>) -> tensor<4xf64>
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64>
    %3 = "stablehlo.reduce_window"(%arg1, %2) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %8 = stablehlo.maximum %arg2, %arg3 : tensor<f64>
      stablehlo.return %8 : tensor<f64>
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64>
    %4 = stablehlo.broadcast_in_dim %arg1, dims = [2, 3] : (tensor<4x3xf64>) -> tensor<1x1x4x3xf64>
    %5 = stablehlo.slice %arg1 [0:2, 0:2] : (tensor<4x3xf64>) -> tensor<2x2xf64>
    %6 = stablehlo.broadcast_in_dim %5, dims = [2, 3] : (tensor<2x2xf64>) -> tensor<1x1x2x2xf64>
    %7 = stablehlo.convolution(%4, %6) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x1x4x3xf64>, tensor<1x1x2x2xf64>) -> tensor<1x1x4x3xf64>
    return %0, %1, %3, %7 : tensor<4xf64>, tensor<4xf64>, tensor<4x3xf64>, tensor<1x1x4x3xf64>
  }
  func.func private @cumsum(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = call @cumsum_0(%arg0) : (tensor<4xf64>) -> tensor<4xf64>
    return %0 : tensor<4xf64>
  }
  func.func private @cumsum_0(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 4>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }) : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
    return %1 : tensor<4xf64>
  }
  func.func private @cummax(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[0, 3]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 4>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %2 = stablehlo.maximum %arg1, %arg2 : tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }) : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
    return %1 : tensor<4xf64>
  }
}
