// The generic form.
// argument float64 [0.3, -0.7, 1.2, 0.1]
// argument float64 [[-0.6, -0.457, -0.314], [-0.171, -0.029, 0.114], [0.257, 0.4, 0.543], [0.686, 0.829, 0.971]]
// argument int64 1
// result float64 [-1.371, -0.7, 1.2000000000000002, 2.486]
// result float64 [0.6, -1.4, 2.4, 0.2]
// result float64 [0.007910460000000001, -0.018457740000000004, 0.031641840000000004, 0.0026368200000000002]
// result float64 [[0.6674450000000001, 0.080057, -0.507502, -1.095347], [0.080057, 0.043078000000000005, 0.006355, -0.030653000000000027], [-0.507502, 0.006355, 0.5208980000000001, 1.035155], [-1.095347, -0.030653000000000027, 1.035155, 2.100678]]
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4xf64>, tensor<4x3xf64>, tensor<i64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4x4xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg8: tensor<4xf64>, %arg9: tensor<4x3xf64>, %arg10: tensor<i64>):
    %23 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4xf64>
    %25 = "stablehlo.compare"(%arg8, %24) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
    %26 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %27 = "stablehlo.reduce"(%arg9, %26) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg19: tensor<f64>, %arg20: tensor<f64>):
      %49 = "stablehlo.add"(%arg19, %arg20) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%49) : (tensor<f64>) -> ()
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4xf64>
    %28 = "stablehlo.slice"(%arg8) <{limit_indices = array<i64: 3>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xf64>) -> tensor<2xf64>
    %29 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %30 = "func.call"(%28, %29) <{callee = @_pad}> : (tensor<2xf64>, tensor<i64>) -> tensor<4xf64>
    %31 = "func.call"(%25, %27, %30) <{callee = @_where}> : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %32 = "stablehlo.convert"(%arg10) : (tensor<i64>) -> tensor<i32>
    %33 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %34 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %35 = "stablehlo.clamp"(%33, %32, %34) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %36 = "stablehlo.case"(%35) ({
      "stablehlo.return"(%arg8) : (tensor<4xf64>) -> ()
    }, {
      %46 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4xf64>
      %48 = "stablehlo.multiply"(%arg8, %47) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
      "stablehlo.return"(%48) : (tensor<4xf64>) -> ()
    }) : (tensor<i32>) -> tensor<4xf64>
    %37 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %38 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %39:4 = "stablehlo.while"(%arg9, %38, %37, %arg8) ({
    ^bb0(%arg15: tensor<4x3xf64>, %arg16: tensor<i64>, %arg17: tensor<i64>, %arg18: tensor<4xf64>):
      %44 = "stablehlo.constant"() <{value = dense<3> : tensor<i64>}> : () -> tensor<i64>
      %45 = "stablehlo.compare"(%arg16, %44) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%45) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg11: tensor<4x3xf64>, %arg12: tensor<i64>, %arg13: tensor<i64>, %arg14: tensor<4xf64>):
      %41:2 = "func.call"(%arg11, %arg13, %arg14) <{callee = @closed_call}> : (tensor<4x3xf64>, tensor<i64>, tensor<4xf64>) -> (tensor<i64>, tensor<4xf64>)
      %42 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
      %43 = "stablehlo.add"(%arg12, %42) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%arg11, %43, %41#0, %41#1) : (tensor<4x3xf64>, tensor<i64>, tensor<i64>, tensor<4xf64>) -> ()
    }) : (tensor<4x3xf64>, tensor<i64>, tensor<i64>, tensor<4xf64>) -> (tensor<4x3xf64>, tensor<i64>, tensor<i64>, tensor<4xf64>)
    %40 = "stablehlo.dot_general"(%arg9, %arg9) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x4xf64>
    "func.return"(%31, %36, %39#3, %40) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4x4xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2xf64>, tensor<i64>) -> tensor<4xf64>, res_attrs = [{}], sym_name = "_pad", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<2xf64>, %arg7: tensor<i64>):
    %21 = "stablehlo.convert"(%arg7) : (tensor<i64>) -> tensor<f64>
    %22 = "stablehlo.pad"(%arg6, %21) <{edge_padding_high = array<i64: 1>, edge_padding_low = array<i64: 1>, interior_padding = array<i64: 0>}> : (tensor<2xf64>, tensor<f64>) -> tensor<4xf64>
    "func.return"(%22) : (tensor<4xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<4xi1>, %arg4: tensor<4xf64>, %arg5: tensor<4xf64>):
    %20 = "stablehlo.select"(%arg3, %arg4, %arg5) : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    "func.return"(%20) : (tensor<4xf64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x3xf64>, tensor<i64>, tensor<4xf64>) -> (tensor<i64>, tensor<4xf64>), res_attrs = [{}, {}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x3xf64>, %arg1: tensor<i64>, %arg2: tensor<4xf64>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %1 = "stablehlo.add"(%arg1, %0) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = "stablehlo.convert"(%arg1) : (tensor<i64>) -> tensor<i32>
    %3 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.compare"(%2, %3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %6 = "stablehlo.add"(%2, %5) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %7 = "stablehlo.select"(%4, %6, %2) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %8 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %9 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %10 = "stablehlo.compare"(%8, %9) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %12 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %13 = "stablehlo.add"(%11, %12) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %14 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %15 = "stablehlo.select"(%10, %13, %14) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %16 = "stablehlo.dynamic_slice"(%arg0, %7, %15) <{slice_sizes = array<i64: 1, 1>}> : (tensor<4x3xf64>, tensor<i32>, tensor<i32>) -> tensor<1x1xf64>
    %17 = "stablehlo.reshape"(%16) : (tensor<1x1xf64>) -> tensor<f64>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4xf64>
    %19 = "stablehlo.multiply"(%arg2, %18) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    "func.return"(%1, %19) : (tensor<i64>, tensor<4xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
