"""Development tools: bootstrap, browser, benchmarks."""
