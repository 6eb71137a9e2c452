import type { Chain } from '../../chain/chain.ts';
import { isBuriedActive } from '../../consensus/deployments.ts';
import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import type { Entries } from '../../mempool/entries.ts';
import type { Mempool } from '../../mempool/pool.ts';
import type { BlockTemplate } from '../../mining/template-maker.ts';

const HASH = 32;
const HASH_DIGITS = 64;

/** The list of BIP-22 as JSON in bytes: all that a miner is told of each transaction. */
export function transactionsJson(
  { entries, graph }: Mempool,
  { parent, selection: { slots } }: BlockTemplate,
  { params }: Chain,
): Uint8Array<ArrayBuffer> {
  // Before segwit there was one limit, and a signature operation counted once.
  const sigopScale = isBuriedActive('segwit', parent.height + 1, params.consensus) ? 1 : WITNESS_SCALE_FACTOR;
  const digits = allDigits(entries, slots);
  const places = new Map<number, number>();
  const parts: string[] = [];
  let at = 0;
  for (let i = 0; i < slots.length; i++) {
    const slot = slots[i]!;
    const alone = graph.standsAlone(slot);
    const depends = alone
      ? ''
      : entries
          .inputSlots(slot)
          .flatMap((from) => places.get(from) ?? [])
          .join(',');
    // Only what hangs together with others is asked for, and parents stand before.
    if (!alone) places.set(slot, i + 1);
    const raw = digits.slice(at, (at += entries.size(slot) * 2));
    const txid = digits.slice(at, (at += HASH_DIGITS));
    const wtxid = digits.slice(at, (at += HASH_DIGITS));
    parts.push(
      `{"data":"${raw}","txid":"${txid}","hash":"${wtxid}","depends":[${depends}],"fee":${entries.fee(slot)},"sigops":${entries.sigopCost(slot) / sigopScale},"weight":${entries.weight(slot)}}`,
    );
  }
  return Buffer.from(`[${parts.join(',')}]`, 'latin1');
}

/** Of each in turn the encoding, txid and wtxid. In hex all at once: each by itself takes several times as long. */
function allDigits(entries: Entries, slots: readonly number[]): string {
  let length = 0;
  for (let i = 0; i < slots.length; i++) length += entries.size(slots[i]!) + 2 * HASH;
  const bytes = new Uint8Array(length);
  for (let i = 0, at = 0; i < slots.length; i++) {
    entries.copyShown(slots[i]!, bytes, at);
    at += entries.size(slots[i]!) + 2 * HASH;
  }
  return bytes.toHex();
}
