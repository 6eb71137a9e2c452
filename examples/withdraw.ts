// Sends one withdrawal exactly once, however often it is repeated.
//
//     URL=http://127.0.0.1:18443 KEY=… bun examples/withdraw.ts withdrawal-4711 ADDRESS 0.25
//
// The key needs the scopes read and wallet.spend. The request id is stored with the payment: a repetition, also after a crash
// of either side or after a fee bump, returns the transaction that was sent. Another amount or address under the same id is
// refused.
interface Reply {
  readonly result: string | null;
  readonly error: { readonly code: number; readonly message: string } | null;
}

const { URL: url = 'http://127.0.0.1:18443', KEY, WALLET = 'default' } = process.env;
const [requestId, address, amount] = process.argv.slice(2);

for (;;) {
  const reply = await fetch(`${url}/wallet/${WALLET}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}` },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: requestId,
      method: 'sendtoaddress',
      params: { address, amount, request_id: requestId },
    }),
  }).catch(() => null);
  const body = reply?.status === 200 ? ((await reply.json()) as Reply) : { result: null, error: null };
  const { result, error } = body;
  if (result) {
    console.log(result);
    break;
  }
  if (error) throw new Error(`${error.code}: ${error.message}`);
  if (reply && reply.status !== 503) throw new Error(await reply.text());
  await Bun.sleep(500); // The node is away or starting. The repetition is safe.
}

export {};
