"""Arrays at the interface: conversion of arguments, memory of results, and runs without compiled code."""
