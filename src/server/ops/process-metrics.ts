import type { Registry } from 'prom-client';
import eventLoopLag from 'prom-client/lib/metrics/eventLoopLag';
import gc from 'prom-client/lib/metrics/gc';
import heapSizeAndUsed from 'prom-client/lib/metrics/heapSizeAndUsed';
import osMemoryHeap from 'prom-client/lib/metrics/osMemoryHeap';
import processCpuTotal from 'prom-client/lib/metrics/processCpuTotal';
import processMaxFileDescriptors from 'prom-client/lib/metrics/processMaxFileDescriptors';
import processOpenFileDescriptors from 'prom-client/lib/metrics/processOpenFileDescriptors';
import processStartTime from 'prom-client/lib/metrics/processStartTime';
import version from 'prom-client/lib/metrics/version';

/**
 * Resolution of the measurement of the event loop's delay, milliseconds. The 10 ms that are the default of prom-client wake
 * each thread a hundred times a second, which is most of the processor time of an idle node.
 */
const EVENT_LOOP_PRECISION_MS = 50;

/**
 * Adds the default metrics of prom-client that are right in this runtime. The others are not even created:
 * `nodejs_active_*_total` are no counters, so promtool rejects them, and the statistics of heap spaces walk the whole heap
 * as soon as they are created.
 */
export function addProcessMetrics(registry: Registry): void {
  for (const add of METRICS) add(registry, { eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
  // Its value is wrong in this runtime.
  registry.removeSingleMetric('process_heap_bytes');
}

const METRICS = [
  processCpuTotal,
  processStartTime,
  osMemoryHeap,
  processOpenFileDescriptors,
  processMaxFileDescriptors,
  eventLoopLag,
  heapSizeAndUsed,
  version,
  gc,
];
