import { SharedCounts } from '../../src/util/shared-counts.ts';

declare const self: Worker;

/** Adds to one count as often as it fits, and to a second one in both directions. */
self.onmessage = ({ data }: MessageEvent<{ shared: SharedArrayBuffer; most: number; rounds: number }>) => {
  const counts = new SharedCounts(data.shared);
  let added = 0;
  for (let i = 0; i < data.rounds; i++) {
    if (counts.add('limited', data.most)) added++;
    counts.add('moving', Number.POSITIVE_INFINITY);
    if (i % 2 === 1) counts.subtract('moving');
  }
  self.postMessage(added);
};
