// A loop that carries a number, reads a vector and writes another.
// argument float64 0.4
// argument float64 [0.3, -0.7, 1.2, 0.1]
// result float64 0.5
// result float64 [0.15, -0.35, -0.5999999999999999, 0.1]
module @jit__lambda {
  func.func public @main(%arg0: tensor<f64>, %arg1: tensor<4xf64>) -> (tensor<f64>, tensor<4xf64>) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %1:5 = stablehlo.while(%iterArg = %arg1, %iterArg_1 = %arg0, %iterArg_2 = %c, %iterArg_3 = %cst, %iterArg_4 = %0) : tensor<4xf64>, tensor<f64>, tensor<i64>, tensor<f64>, tensor<4xf64>
    cond {
      %c_5 = stablehlo.constant dense<4> : tensor<i64>
      %2 = stablehlo.compare LT, %iterArg_2, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_2) : (tensor<4xf64>, tensor<i64>) -> tensor<f64>
      %3:2 = func.call @closed_call(%iterArg_1, %iterArg_3, %2) : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
      %4 = func.call @dynamic_update_index_in_dim(%iterArg_4, %3#1, %iterArg_2) : (tensor<4xf64>, tensor<f64>, tensor<i64>) -> tensor<4xf64>
      %c_5 = stablehlo.constant dense<1> : tensor<i64>
      %5 = stablehlo.add %iterArg_2, %c_5 : tensor<i64>
      stablehlo.return %iterArg, %iterArg_1, %5, %3#0, %4 : tensor<4xf64>, tensor<f64>, tensor<i64>, tensor<f64>, tensor<4xf64>
    }
    return %1#3, %1#4 : tensor<f64>, tensor<4xf64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<4xf64>, %arg1: tensor<i64>) -> tensor<f64> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<4xf64>, tensor<i64>) -> tensor<1xf64>
    %1 = stablehlo.reshape %0 : (tensor<1xf64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
  func.func private @closed_call(%arg0: tensor<f64>, %arg1: tensor<f64>, %arg2: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
    %0 = stablehlo.convert %arg1 : tensor<f64>
    %1 = stablehlo.multiply %0, %arg0 : tensor<f64>
    %2 = stablehlo.add %1, %arg2 : tensor<f64>
    %3 = stablehlo.convert %arg1 : tensor<f64>
    %4 = stablehlo.multiply %3, %arg2 : tensor<f64>
    return %2, %4 : tensor<f64>, tensor<f64>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<4xf64>, %arg1: tensor<f64>, %arg2: tensor<i64>) -> tensor<4xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2 : (tensor<4xf64>, tensor<1xf64>, tensor<i64>) -> tensor<4xf64>
    return %1 : tensor<4xf64>
  }
}
