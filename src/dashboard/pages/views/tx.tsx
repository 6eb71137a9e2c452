import { useState } from 'preact/hooks';
import { getJson } from '../api.ts';
import { formatBytes, formatCount, formatCounted, formatFeeRate } from '../display-format.ts';
import { checkMerkleProof, type MerkleProof, type ProofResult } from '../merkle-proof.ts';
import { AmountText, Card, Facts, HashLink, Show, Time, Title } from '../parts.tsx';
import type { InputReply, OutputReply, Tx } from '../replies.ts';
import { useLoad, useShared } from '../state.ts';

/** How many inputs and outputs are shown at first. A transaction may have thousands of them. */
const FEW = 50;

/** A transaction with its inputs and outputs, and the check of its Merkle proof. */
export function TxPage({ txid }: { txid: string }) {
  const { chainVersion, mempoolVersion } = useShared();
  const [known, setKnown] = useState(false);
  // A confirmed transaction changes with the chain alone.
  const version = known ? `c${chainVersion}` : `${chainVersion}.${mempoolVersion}`;
  const found = useLoad<Tx>(`/api/tx/${encodeURIComponent(txid)}`, version);
  const isConfirmed = found.value?.status.confirmed ?? false;
  if (isConfirmed !== known) setKnown(isConfirmed);
  return (
    <>
      <Title>Transaction</Title>
      <Show of={found}>
        {(tx) => (
          <>
            <TxFacts tx={tx} />
            <div class="flows">
              <Flow title={formatCounted(tx.vin.length, 'input')} rows={tx.vin.map(inputRow)} />
              <Flow title={formatCounted(tx.vout.length, 'output')} rows={tx.vout.map(outputRow)} />
            </div>
            {tx.status.confirmed && <ProofCard key={tx.status.blockHash} txid={tx.txid} />}
          </>
        )}
      </Show>
    </>
  );
}

function TxFacts({ tx }: { tx: Tx }) {
  const { confirmed, confirmations, blockHash, blockTime, blockHeight } = tx.status;
  return (
    <Card title={`Txid ${tx.txid}`} wide>
      <Facts
        rows={[
          ['State', confirmed ? formatCounted(confirmations, 'confirmation') : 'unconfirmed, in the mempool'],
          ['Block', blockHash === null ? null : <HashLink key="block" page="block" id={blockHash} />],
          ['Height', blockHeight === null ? null : formatCount(blockHeight)],
          ['Time', blockTime === null ? null : <Time key="time" at={blockTime} />],
          ['Amount', <AmountText key="amount" of={tx.valueOut} />],
          ['Fee', tx.fee === null ? null : <AmountText key="fee" of={tx.fee} />],
          ['Fee rate', tx.feeRate === null ? null : `${formatFeeRate(tx.feeRate)} sat/vB`],
          ['Size', `${formatBytes(tx.size)}, ${formatCount(tx.vsize)} vB, ${formatCount(tx.weight)} WU`],
          ['Replaceable', confirmed ? null : tx.signalsRbf ? 'signals it (BIP-125)' : 'does not signal it'],
          ['Version', tx.version],
          ['Lock time', formatCount(tx.locktime)],
          ['Wtxid', <code key="wtxid">{tx.wtxid}</code>],
        ]}
      />
    </Card>
  );
}

interface FlowRow {
  readonly key: string;
  readonly address: string | null;
  /** Shown where the script has no address. */
  readonly script: string;
  readonly value: number | null;
  /** The transaction that an input spends from. */
  readonly from: string | null;
  readonly note: string | null;
}

function inputRow({ txid, vout, coinbase, prevout }: InputReply): FlowRow {
  if (coinbase !== null)
    return { key: 'coinbase', address: null, script: 'coinbase', value: null, from: null, note: 'new coins and fees' };
  const { address = null, type = 'unknown' } = prevout?.script ?? {};
  return { key: `${txid}:${vout}`, address, script: type, value: prevout?.value ?? null, from: txid, note: null };
}

function outputRow({ n, value, spent, script }: OutputReply): FlowRow {
  const note = spent === null ? null : spent ? 'spent' : 'unspent';
  return { key: String(n), address: script.address, script: script.type.replaceAll('_', ' '), value, from: null, note };
}

function Flow({ title, rows }: { title: string; rows: readonly FlowRow[] }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? rows : rows.slice(0, FEW);
  return (
    <Card title={title}>
      <ul class="flow">
        {shown.map(({ key, address, script, value, from, note }) => (
          <li key={key}>
            <span class="party">
              {address === null ? script : <HashLink page="address" id={address} whole />}
              {from !== null && (
                <span class="note">
                  from <HashLink page="tx" id={from} />
                </span>
              )}
              {note !== null && <span class="note">{note}</span>}
            </span>
            {value !== null && <AmountText of={value} />}
          </li>
        ))}
      </ul>
      {shown.length < rows.length && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show all {formatCount(rows.length)}
        </button>
      )}
    </Card>
  );
}

/** Checks in the browser that the transaction is in its block, without trust in the node for the hashes. */
function ProofCard({ txid }: { txid: string }) {
  const [result, setResult] = useState<ProofResult | null>(null);
  const [steps, setSteps] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  const check = async () => {
    try {
      const proof = await getJson<MerkleProof>(`/api/tx/${txid}/proof`);
      setSteps(proof.merkle.length);
      setResult(
        proof.txid === txid ? await checkMerkleProof(proof) : { valid: false, reason: 'The proof is of another txid.' },
      );
      setProblem(null);
    } catch (error) {
      // The proof has not failed: it was not received, or this browser cannot hash.
      setResult(null);
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Card title="Merkle proof" wide>
      <p>
        This browser hashes the way from the txid to the Merkle root of the block, and checks the proof of work of the
        header.
      </p>
      <button type="button" id="check-proof" onClick={() => void check()}>
        Check the proof
      </button>
      {problem !== null && (
        <p class="failure" role="alert">
          The proof cannot be checked: {problem}
        </p>
      )}
      <p data-proof={result === null ? 'open' : result.valid ? 'valid' : 'invalid'} role="status">
        {result !== null &&
          (result.valid
            ? `✓ The proof is valid: ${steps} ${steps === 1 ? 'hash leads' : 'hashes lead'} from the txid to the Merkle root of the header.`
            : `✗ The proof is not valid. ${result.reason}`)}
      </p>
    </Card>
  );
}
