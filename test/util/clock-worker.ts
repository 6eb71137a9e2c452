import { acrossThreadsMs } from '../../src/util/clock.ts';

declare const self: Worker;

self.onmessage = () => self.postMessage(acrossThreadsMs());
