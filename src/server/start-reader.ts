import { startWorker } from '../util/worker.ts';

/** Starts a reader worker. Throws NoRoomForThread. */
export const startReader = (): Worker => startWorker(new URL('./reader-worker.ts', import.meta.url), 'reader');
