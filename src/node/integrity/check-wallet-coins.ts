import type { Database } from 'bun:sqlite';
import type { Findings } from '../../chain/integrity/findings.ts';
import { coinHeight, isCoinbaseCoin, positionHeight } from '../../primitives/coin.ts';
import type { Txid } from '../../primitives/hash.ts';
import { headerTime } from '../../queries/block-facts.ts';
import type { ChainReads } from '../../storage/chain-reads.ts';
import { openReadOnly } from '../../storage/database.ts';
import type { WalletFile } from '../../storage/wallet-folder.ts';
import { equalBytes } from '../../util/bytes.ts';
import { WalletReads } from '../../wallet/store/wallet-reads.ts';
import { SpentCode } from '../../wallet/store/wallet-schema.ts';

const CACHE_MIB = 16;
const ROWS_PER_STEP = 1000;
/** Coins of one script that are read at a time. */
const COINS_PER_PAGE = 1000;
/** A wallet scans blocks up to this long before a descriptor was created, seconds. */
const CREATION_TOLERANCE_S = 7200;
const RESCAN = 'rescanblockchain corrects it';

interface CoinCheckRow {
  txid: Uint8Array;
  vout: number;
  value: number;
  script: Uint8Array;
  height: number;
  coinbase: number;
  spent: number;
}

/**
 * Compares the confirmed coins of a wallet with those of the chain, in both directions where the address index covers the
 * tip. Yields now and then. Returns a sentence where they cannot be compared.
 */
export function* checkWalletCoins(
  { name, path }: Pick<WalletFile, 'name' | 'path'>,
  reads: ChainReads,
  findings: Findings,
): Generator<undefined, string | null> {
  const db = findings.attempt(path, 'the file', () => openReadOnly(path, CACHE_MIB));
  if (db === null) return null;
  try {
    const wallet = WalletReads.on(db);
    const cursor = wallet.cursor();
    const tip = reads.tip();
    if (cursor === null || !equalBytes(cursor.hash, tip.hash))
      return `the wallet ${name} has processed the blocks up to ${cursor === null ? 'no height' : `height ${cursor.height}`}, not the tip; its coins are not compared with the chain`;
    if (
      wallet.meta('unscannedFrom') !== null ||
      wallet.meta('unfinished') !== null ||
      wallet.meta('disconnecting') !== null
    )
      return `the wallet ${name} completes a scan at its next start; its coins are not compared with the chain`;
    yield* checkListedCoins(db, path, reads, findings);
    if (!reads.indexes.live().has('address'))
      return `the chain has no complete address index; whether the wallet ${name} lists all of its coins is not checked`;
    yield* checkMissingCoins(db, path, reads, findings);
    return null;
  } finally {
    db.close();
  }
}

/** Coins that the wallet lists as unspent must be coins of the chain, and those that it lists as spent must not. */
function* checkListedCoins(db: Database, path: string, reads: ChainReads, findings: Findings): Generator<undefined> {
  const coins = db.query<CoinCheckRow, []>(
    `SELECT t.txid, c.vout, c.value, c.script, c.height, c.coinbase, c.spent
     FROM coins c JOIN txs t ON t.id = c.tx WHERE c.height IS NOT NULL`,
  );
  let rows = 0;
  for (const { txid, vout, value, script, height, coinbase, spent } of coins.iterate()) {
    if (++rows % ROWS_PER_STEP === 0) yield;
    const part = `coin ${txid.toReversed().toHex()}:${vout}`;
    const found = findings.attempt(path, part, () => ({ coin: reads.coins.get({ txid: txid as Txid, vout }) }));
    if (found === null) continue;
    const { coin } = found;
    const add = (problem: string) => findings.addFinding(path, part, `${problem}: ${RESCAN}`, height);
    if (spent === SpentCode.CONFIRMED) {
      if (coin !== null) add('the wallet lists it as spent, and the chain has it as a coin');
    } else if (coin === null) add('the wallet lists it as unspent, and the chain has no such coin');
    else if (
      coin.output.value !== BigInt(value) ||
      coinHeight(coin) !== height ||
      isCoinbaseCoin(coin) !== (coinbase === 1) ||
      !equalBytes(coin.output.scriptPubKey, script)
    )
      add('the coin of the chain has another value, height or script');
  }
}

/** Coins of the chain that pay to scripts of the wallet must be listed, unless they are older than the descriptor. */
function* checkMissingCoins(db: Database, path: string, reads: ChainReads, findings: Findings): Generator<undefined> {
  const scripts = db.query<{ script: Uint8Array; created: number }, []>(
    'SELECT s.script, min(d.created_at) AS created FROM scripts s JOIN descriptors d ON d.id = s.descriptor GROUP BY s.script',
  );
  const listed = db.prepare<{ txid: Uint8Array; vout: number }, [Uint8Array]>(
    'SELECT t.txid, c.vout FROM coins c JOIN txs t ON t.id = c.tx WHERE c.script = ? AND c.height IS NOT NULL',
  );
  let rows = 0;
  for (const { script, created } of scripts.iterate()) {
    if (++rows % ROWS_PER_STEP === 0) yield;
    findings.attempt(path, `script ${script.toHex()}`, () => {
      const totals = reads.scripts.totals(script);
      if (totals === null || totals.utxos === 0) return;
      const known = new Set(listed.all(script).map(({ txid, vout }) => `${txid.toHex()}:${vout}`));
      for (const { position, vout, txid } of coinsOfScript(reads, script)) {
        if (known.has(`${txid.toHex()}:${vout}`)) continue;
        const block = reads.headers.byHeight(positionHeight(position))!;
        if (headerTime(block) < created + CREATION_TOLERANCE_S) continue;
        findings.addFinding(
          path,
          `coin ${txid.toReversed().toHex()}:${vout}`,
          `it pays to a script of the wallet, which does not list it: ${RESCAN}`,
          positionHeight(position),
        );
      }
    });
  }
}

function* coinsOfScript(reads: ChainReads, script: Uint8Array) {
  const key = reads.scripts.keyOf(script);
  for (let after = { position: -1, vout: 0 }; ; ) {
    const page = reads.scripts.coins(key, after, COINS_PER_PAGE);
    for (const { position, vout } of page) yield { position, vout, txid: reads.txs.byPosition(position)!.txid };
    const last = page.at(-1);
    if (last === undefined || page.length < COINS_PER_PAGE) return;
    after = last;
  }
}
