// Sorts, with their comparisons, and a reduction of pairs.
// argument float64 [0.3, -0.7, 1.2, 0.1]
// argument float64 [[-0.6, -0.457, -0.314], [-0.171, -0.029, 0.114], [0.257, 0.4, 0.543], [0.686, 0.829, 0.971]]
// result float64 [1.2, 0.3, 0.1, -0.7]
// result int64 [[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2]]
// result float64 [1.2, 0.3]
// result int32 [2, 0]
// result int64 2
// result int64 [0, 1, 2, 3]
module @jit__lambda {
  func.func public @main(%arg0: tensor<4xf64>, %arg1: tensor<4x3xf64>) -> (tensor<4xf64>, tensor<4x3xi64>, tensor<2xf64>, tensor<2xi32>, tensor<i64>, tensor<4xi64>) {
    %0 = call @sort(%arg0) : (tensor<4xf64>) -> tensor<4xf64>
    %1 = call @argsort(%arg1) : (tensor<4x3xf64>) -> tensor<4x3xi64>
    %values, %indices = chlo.top_k(%arg0, k = 2) : tensor<4xf64> -> (tensor<2xf64>, tensor<2xi32>)
    %2 = call @argmax(%arg0) : (tensor<4xf64>) -> tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %4 = stablehlo.compare GT, %arg0, %3, FLOAT : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
    %5 = stablehlo.slice %arg1 [0:4, 0:1] : (tensor<4x3xf64>) -> tensor<4x1xf64>
    %6 = stablehlo.reshape %5 : (tensor<4x1xf64>) -> tensor<4xf64>
    %7 = call @lexsort(%4, %6) : (tensor<4xi1>, tensor<4xf64>) -> tensor<4xi64>
    return %0, %1, %values, %indices, %2, %7 : tensor<4xf64>, tensor<4x3xi64>, tensor<2xf64>, tensor<2xi32>, tensor<i64>, tensor<4xi64>
  }
  func.func private @sort(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %2 = stablehlo.compare EQ, %arg1, %cst, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %3 = stablehlo.select %2, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %4 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %5 = stablehlo.select %4, %cst_1, %3 : tensor<i1>, tensor<f64>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %6 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %7 = stablehlo.select %6, %cst_3, %arg2 : tensor<i1>, tensor<f64>
      %8 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %9 = stablehlo.select %8, %cst_4, %7 : tensor<i1>, tensor<f64>
      %10 = stablehlo.compare LT, %5, %9, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<4xf64>) -> tensor<4xf64>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf64>
    return %1 : tensor<4xf64>
  }
  func.func private @argsort(%arg0: tensor<4x3xf64>) -> tensor<4x3xi64> {
    %0 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<i64>, %arg4: tensor<i64>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %2 = stablehlo.compare EQ, %arg1, %cst, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %3 = stablehlo.select %2, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %4 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %5 = stablehlo.select %4, %cst_1, %3 : tensor<i1>, tensor<f64>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %6 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %7 = stablehlo.select %6, %cst_3, %arg2 : tensor<i1>, tensor<f64>
      %8 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %9 = stablehlo.select %8, %cst_4, %7 : tensor<i1>, tensor<f64>
      %10 = stablehlo.compare LT, %5, %9, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<4x3xf64>, tensor<4x3xi64>) -> (tensor<4x3xf64>, tensor<4x3xi64>)
    return %1#1 : tensor<4x3xi64>
  }
  func.func private @argmax(%arg0: tensor<4xf64>) -> tensor<i64> {
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [0] : (tensor<4xf64>, tensor<4xi64>, tensor<f64>, tensor<i64>) -> (tensor<f64>, tensor<i64>)
     reducer(%arg1: tensor<f64>, %arg3: tensor<f64>) (%arg2: tensor<i64>, %arg4: tensor<i64>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f64>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i64>
      stablehlo.return %9, %10 : tensor<f64>, tensor<i64>
    }
    return %1#1 : tensor<i64>
  }
  func.func private @lexsort(%arg0: tensor<4xi1>, %arg1: tensor<4xf64>) -> tensor<4xi64> {
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1:3 = "stablehlo.sort"(%arg1, %arg0, %0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>, %arg4: tensor<i1>, %arg5: tensor<i1>, %arg6: tensor<i64>, %arg7: tensor<i64>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %2 = stablehlo.compare EQ, %arg2, %cst, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %3 = stablehlo.select %2, %cst_0, %arg2 : tensor<i1>, tensor<f64>
      %4 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %5 = stablehlo.select %4, %cst_1, %3 : tensor<i1>, tensor<f64>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %6 = stablehlo.compare EQ, %arg3, %cst_2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %7 = stablehlo.select %6, %cst_3, %arg3 : tensor<i1>, tensor<f64>
      %8 = stablehlo.compare NE, %arg3, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %9 = stablehlo.select %8, %cst_4, %7 : tensor<i1>, tensor<f64>
      %10 = stablehlo.compare LT, %arg4, %arg5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %11 = stablehlo.compare LT, %5, %9, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %12 = stablehlo.compare EQ, %5, %9, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %13 = stablehlo.and %12, %10 : tensor<i1>
      %14 = stablehlo.or %11, %13 : tensor<i1>
      stablehlo.return %14 : tensor<i1>
    }) : (tensor<4xf64>, tensor<4xi1>, tensor<4xi64>) -> (tensor<4xf64>, tensor<4xi1>, tensor<4xi64>)
    return %1#2 : tensor<4xi64>
  }
}
