import { AcceptHold } from '../../src/util/accept-hold.ts';

declare const self: Worker;

/** Counts as often as it can, as a thread that accepts connections; the message `end` ends it. */
self.onmessage = ({ data }: MessageEvent<{ shared: SharedArrayBuffer; count: Int32Array } | 'end'>) => {
  if (data === 'end') {
    hold?.end();
    counting?.close();
    self.postMessage('ended');
    return;
  }
  hold = new AcceptHold(data.shared);
  hold.start();
  const { port1, port2 } = new MessageChannel();
  counting = port1;
  port1.onmessage = () => {
    Atomics.add(data.count, 0, 1);
    port2.postMessage(0);
  };
  port2.postMessage(0);
  self.postMessage('started');
};

let hold: AcceptHold | null = null;
let counting: MessagePort | null = null;
