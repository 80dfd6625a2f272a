"""The compiled kernels: a plain C++ library, built where there is a compiler, left out with a notice where not."""

from __future__ import annotations

from setuptools import Extension, setup

KERNELS = Extension(
    "confgcn.kernels._compiled",
    sources=["confgcn/kernels/kernels.cpp"],
    depends=["confgcn/kernels/loops.h", "confgcn/kernels/rows.h", "confgcn/kernels/interface.h"],
    # The library must run on other machines than the one it is built on: no flag asks for this one's instructions.
    extra_compile_args=[
        "-std=c++17",
        "-O3",
        "-fopenmp-simd",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-pthread",
        "-g0",
    ],
    extra_link_args=["-pthread"],
    language="c++",
    optional=True,
)

setup(ext_modules=[KERNELS])
