// The package has no types for these files.
declare module 'prom-client/lib/metrics/*' {
  const add: (registry: import('prom-client').Registry, options: { eventLoopMonitoringPrecision: number }) => void;
  export default add;
}
