import { addressOf } from '../../script/address.ts';
import { type ScriptType, scriptType } from '../../script/templates.ts';
import { compareBytes } from '../../util/bytes.ts';
import type { KeyEncoding } from '../descriptor/descriptor.ts';
import type { WalletView } from './wallet-view.ts';

/** An address of a group; amounts in satoshis. */
export interface GroupedAddress {
  readonly script: Uint8Array;
  readonly address: string;
  readonly balance: number;
}

/** Core's sort order of destinations. */
const ORDER: readonly ScriptType[] = [
  'pubkeyhash',
  'scripthash',
  'witness_v0_scripthash',
  'witness_v0_keyhash',
  'witness_v1_taproot',
  'anchor',
  'witness_unknown',
];

interface Member extends GroupedAddress {
  readonly order: number;
}

/**
 * Addresses that were spent together, with the change of those payments; all other paid addresses of the wallet form
 * groups of one. The chain shows that a group has one owner. Core's GetAddressGroupings.
 */
export function addressGroups(
  view: WalletView,
  { address: format }: Pick<KeyEncoding, 'address'>,
  isChange: (script: Uint8Array) => boolean,
): GroupedAddress[][] {
  const balances = balancesByScript(view);
  const members = new Map<string, Member>();
  const groupOf = new Map<string, Set<string>>();
  const join = (scripts: readonly Uint8Array[]) => {
    const group = new Set<string>();
    for (const script of scripts) {
      const address = addressOf(script, format);
      if (address === null) continue;
      const key = script.toHex();
      if (!members.has(key)) {
        const order = ORDER.indexOf(scriptType(script).type);
        members.set(key, { script, address, balance: balances.get(key) ?? 0, order });
      }
      for (const each of groupOf.get(key) ?? [key]) group.add(each);
    }
    for (const key of group) groupOf.set(key, group);
  };
  const { txs } = view.reads;
  for (const { id } of view.reads.allTransactions()) {
    const { inputs, outputs } = view.transaction(id);
    const spent = inputs.flatMap(({ prevout }) => txs.coin(prevout)?.script ?? []);
    if (spent.length > 0)
      join([...spent, ...outputs.map(({ scriptPubKey }) => scriptPubKey).filter((script) => isChange(script))]);
    for (const { script } of txs.coinsOf(id)) join([script]);
  }
  return [...new Set(groupOf.values())]
    .map((group) => Array.from(group, (key) => members.get(key)!).sort(compareMembers))
    .sort(compareGroups);
}

/** Spendable amount by script, as hex. */
function balancesByScript(view: WalletView): Map<string, number> {
  const balances = new Map<string, number>();
  for (const coin of view.reads.unspent()) {
    if (view.isImmature(coin) || !view.isTrusted(view.reads.txs.byId(coin.tx))) continue;
    const key = coin.script.toHex();
    balances.set(key, (balances.get(key) ?? 0) + coin.value);
  }
  return balances;
}

function compareMembers(a: Member, b: Member): number {
  return a.order - b.order || compareBytes(a.script, b.script);
}

function compareGroups(a: readonly Member[], b: readonly Member[]): number {
  // No address is in two groups.
  return compareMembers(a[0]!, b[0]!);
}
