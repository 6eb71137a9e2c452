// The package has no types for these files.
declare module 'prom-client/lib/metrics/*' {
  const add: (registry: import('prom-client').Registry, options: { eventLoopMonitoringPrecision: number }) => void;
  export default add;
}
declare module 'prom-client/lib/counter' {
  export { Counter as default } from 'prom-client';
}
declare module 'prom-client/lib/gauge' {
  export { Gauge as default } from 'prom-client';
}
declare module 'prom-client/lib/histogram' {
  export { Histogram as default } from 'prom-client';
}
declare module 'prom-client/lib/registry' {
  export { Registry as default } from 'prom-client';
}
