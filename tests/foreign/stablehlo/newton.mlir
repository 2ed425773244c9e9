// A loop of unknown length.
// argument float64 0.4
// result float64 0.6324555320336759
module @jit__lambda {
  func.func public @main(%arg0: tensor<f64>) -> (tensor<f64>) {
    %0:3 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg0, %iterArg_1 = %arg0) : tensor<f64>, tensor<f64>, tensor<f64>
    cond {
      %1 = stablehlo.multiply %iterArg_1, %iterArg_1 : tensor<f64>
      %2 = stablehlo.subtract %1, %iterArg : tensor<f64>
      %3 = stablehlo.abs %2 : tensor<f64>
      %cst = stablehlo.constant dense<1.000000e-13> : tensor<f64>
      %4 = stablehlo.compare GT, %3, %cst, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %1 = stablehlo.divide %iterArg_0, %iterArg_1 : tensor<f64>
      %2 = stablehlo.add %iterArg_1, %1 : tensor<f64>
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
      %3 = stablehlo.multiply %cst, %2 : tensor<f64>
      stablehlo.return %iterArg, %iterArg_0, %3 : tensor<f64>, tensor<f64>, tensor<f64>
    }
    return %0#2 : tensor<f64>
  }
}
