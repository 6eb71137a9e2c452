import type { BlockHeader } from '../primitives/header.ts';
import { type ConsensusParams, retargetInterval } from './consensus-params.ts';
import { nextWorkRequired } from './difficulty.ts';
import { type HeaderEntry, medianTimePast } from './header-entry.ts';
import { MAX_FUTURE_BLOCK_TIME, MAX_TIMEWARP } from './limits.ts';
import { type BlockRejection, reject } from './rejection.ts';
import { checkProofOfWork } from './work.ts';

/** Checks the proof of work: the hash against the target that the header states. */
export function checkHeader(
  { hash, bits }: { readonly hash: Uint8Array; readonly bits: number },
  { powLimit }: ConsensusParams,
): BlockRejection | null {
  return checkProofOfWork(hash, bits, powLimit) ? null : reject('invalid-header', 'high-hash', 'proof of work failed');
}

/** Checks a header as a child of `parent` (Core's ContextualCheckBlockHeader). `now`: the node's time, Unix seconds. */
export function checkHeaderContext(
  header: Pick<BlockHeader, 'version' | 'time' | 'bits'>,
  parent: HeaderEntry,
  params: ConsensusParams,
  now: number,
): BlockRejection | null {
  const { version, time, bits } = header;
  const height = parent.height + 1;
  if (bits !== nextWorkRequired(parent, time, params))
    return reject('invalid-header', 'bad-diffbits', 'incorrect proof of work');
  if (time <= medianTimePast(parent)) return reject('invalid-header', 'time-too-old', "block's timestamp is too early");
  // BIP-94: without this bound a time warp could lower the difficulty without limit.
  if (params.enforceBip94 && height % retargetInterval(params) === 0 && time < parent.time - MAX_TIMEWARP)
    return reject('invalid-header', 'time-timewarp-attack', "block's timestamp is too early on diff adjustment block");
  if (time > now + MAX_FUTURE_BLOCK_TIME)
    return reject('time-future', 'time-too-new', 'block timestamp too far in the future');
  if (
    (version < 2 && height >= params.bip34Height) ||
    (version < 3 && height >= params.bip66Height) ||
    (version < 4 && height >= params.bip65Height)
  ) {
    const hex = `0x${(version >>> 0).toString(16).padStart(8, '0')}`;
    return reject('invalid-header', `bad-version(${hex})`, `rejected nVersion=${hex} block`);
  }
  return null;
}
