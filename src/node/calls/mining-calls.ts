import type { Chain } from '../../chain/chain.ts';
import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { DeploymentName } from '../../consensus/consensus-params.ts';
import { rejectionText } from '../../consensus/rejection.ts';
import { deploymentState, VersionBitsCache } from '../../consensus/version-bits.ts';
import type { Mempool } from '../../mempool/pool.ts';
import { grind, Miner } from '../../mining/miner.ts';
import type { MiningDeps } from '../../mining/mining-deps.ts';
import { type BlockTemplate, TemplateMaker } from '../../mining/template-maker.ts';
import type { CallTable, DeploymentView, MiningCalls, TemplateView } from '../../port/node-calls.ts';
import type { Refusal } from '../../port/refusal.ts';
import { parseLeadingBlock, parseTransaction } from '../../primitives/block.ts';
import { hashFromHex, hashToHex, type Txid } from '../../primitives/hash.ts';
import { HEADER_SIZE, headerFromBytes } from '../../primitives/header.ts';
import type { Transaction } from '../../primitives/transaction.ts';
import { DecodeError } from '../../util/bytes.ts';
import { setMockTime } from '../../util/clock.ts';
import { orDiskRefusal } from './storage-refusal.ts';
import { transactionsJson } from './template-json.ts';

/** Core's default of `maxtries` for one block. */
const MAX_TRIES = 1_000_000;
const NOT_ACCEPTED = 'ProcessNewBlock, block not accepted';
const REFUSED: Refusal = { refused: 'internal', message: NOT_ACCEPTED };

interface MiningCallDeps extends MiningDeps {
  /** Called after the mock time was set. */
  readonly onMockTime?: () => void;
}

/** Returns the mining calls of the RPC interface. The signal ends those that take long. */
export function miningCalls(deps: MiningCallDeps, signal: AbortSignal): CallTable<MiningCalls> {
  const { chain, mempool } = deps;
  const miner = new Miner(deps);
  const templates = new TemplateMaker(deps);
  const versions = new VersionBitsCache();
  let transactions = new Uint8Array(0);
  return {
    generate: (script, count, maxTries) =>
      orDiskRefusal(chain, NOT_ACCEPTED, async () => {
        const hashes: string[] = [];
        let left = maxTries;
        while (hashes.length < count && left > 0 && !signal.aborted) {
          const block = await miner.mine(script, left);
          if (block === null) break;
          left -= block.tries;
          if (await miner.submit(block)) return REFUSED;
          hashes.push(hashToHex(block.hash));
        }
        return { hashes, triesLeft: left };
      }),
    async generateBlock(script, given, submit) {
      const txs: Transaction[] = [];
      for (const one of given) {
        const tx = typeof one === 'string' ? inMempool(mempool, one) : parseTransaction(one).tx;
        if (tx === null) return notInMempool(one as string);
        txs.push(tx);
      }
      const block = await miner.assembleThese(script, txs);
      const rejection = await miner.test(block);
      if (rejection) return { refused: 'verify', message: `TestBlockValidity failed: ${rejectionText(rejection)}` };
      const mined = grind(block, MAX_TRIES);
      if (mined === null) return { refused: 'misc', message: 'Failed to make block.' };
      if (submit) {
        const refusal = await orDiskRefusal(chain, NOT_ACCEPTED, async () =>
          (await miner.submit(mined)) ? REFUSED : null,
        );
        if (refusal) return refusal;
      }
      return { hash: hashToHex(mined.hash), raw: mined.raw };
    },
    blockTemplate: (known) =>
      chain.whenSettled(() => {
        const template = templates.current((made) => {
          miner.assembled(made.selection);
          transactions = transactionsJson(mempool, made, chain);
        });
        const deployments = signalled(template.parent, chain, versions);
        return templateView(template, deployments, template.id === known ? null : transactions);
      }),
    async proposeBlock(raw) {
      const block = parsed(raw);
      if (block === null) return { refused: 'deserialization', message: 'Block decode failed' };
      const known = chain.findEntry(block.hash);
      // The genesis block is never connected by the rules.
      if (known?.failed) return 'duplicate-invalid';
      if (known) return known.wasConnected && known.parent !== null ? 'duplicate' : 'duplicate-inconclusive';
      const rejection = await chain.testBlock(block, { proofOfWork: false });
      return rejection?.reason ?? null;
    },
    async submitHeader(raw) {
      if (raw.length < HEADER_SIZE) return { refused: 'deserialization', message: 'Block header decode failed' };
      const bytes = raw.slice(0, HEADER_SIZE);
      const { previousHash } = headerFromBytes(bytes);
      if (chain.findEntry(previousHash) === null)
        return { refused: 'verify', message: `Must submit previous header (${hashToHex(previousHash)}) first` };
      const outcome = await chain.acceptHeader(bytes);
      // The caller may ask for the header next.
      await chain.settle();
      return outcome.status === 'rejected' ? { refused: 'verify', message: outcome.rejection.reason } : null;
    },
    mempoolChanges: () => mempool.changes,
    lastAssembled: () => miner.last,
    setMockTime(seconds) {
      setMockTime(seconds);
      deps.onMockTime?.();
      return null;
    },
  };
}

function inMempool({ entries }: Mempool, txid: string): Transaction | null {
  const slot = entries.find(hashFromHex<Txid>(txid));
  return slot < 0 ? null : entries.parsed(slot).tx;
}

function notInMempool(txid: string): Refusal {
  return { refused: 'invalidAddressOrKey', message: `Transaction ${txid} not in mempool.` };
}

function parsed(raw: Uint8Array) {
  try {
    return parseLeadingBlock(raw);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function templateView(
  template: BlockTemplate,
  deployments: readonly DeploymentView[],
  transactions: Uint8Array | null,
): TemplateView {
  const { id, parent, version, time, minTime, bits, coinbaseValue, commitment, changes } = template;
  return {
    id,
    height: parent.height + 1,
    previousHash: hashToHex(parent.hash),
    version,
    time,
    minTime,
    bits,
    coinbaseValue: Number(coinbaseValue),
    commitment,
    deployments,
    changes,
    transactions,
  };
}

/** Returns the deployments that can be signalled in the block after `parent`. */
function signalled(parent: ChainEntry, { params: { consensus } }: Chain, cache: VersionBitsCache): DeploymentView[] {
  return Object.entries(consensus.deployments).flatMap(([name, { bit }]) => {
    const state = deploymentState(parent, consensus, name as DeploymentName, cache);
    return state === 'started' || state === 'locked_in' || state === 'active' ? [{ name, bit, state }] : [];
  });
}
