import { announceStart } from '../util/worker.ts';
import { copyWallet, copyWalletWithoutKeys } from './store/wallet-copy.ts';

/** File paths. */
export interface CopyRequest {
  readonly from: string;
  readonly to: string;
  readonly withKeys: boolean;
}

/** Error message, or null. */
export interface CopyReply {
  readonly error: string | null;
}

declare const self: Worker;

if (!Bun.isMainThread) {
  announceStart();
  self.onmessage = ({ data: { from, to, withKeys } }: MessageEvent<CopyRequest>) => {
    let error: string | null = null;
    try {
      if (withKeys) copyWallet(from, to);
      else copyWalletWithoutKeys(from, to);
    } catch (thrown) {
      error = String(thrown);
    }
    self.postMessage({ error } satisfies CopyReply);
  };
}
