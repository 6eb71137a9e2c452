/** Returns the text that the sandbox prints at start: commands to paste, and the key when it is new. */
export function welcome({
  url,
  key,
  keyFile,
  address,
}: {
  url: string;
  key: string | null;
  /** Null where the operator has set the key. */
  keyFile: string | null;
  address: string;
}): string {
  // Double quotes let the shell expand $KEY where the key is not shown.
  const authorization = `-H "Authorization: Bearer ${key ?? '$KEY'}"`;
  const lines = [
    '',
    `  Obverse sandbox on regtest at ${url}`,
    '',
    ...(key
      ? [`  API key, shown once and kept in ${keyFile}:`, `    ${key}`]
      : keyFile
        ? ['  API key:', `    KEY=$(cat ${keyFile})`]
        : ['  API key set by the operator:', '    KEY=$OBVERSE_API_KEY']),
    '',
    '  Try:',
    `    curl ${url}/api/info`,
    `    curl ${authorization} ${url}/api/block-by-height/1`,
    `    curl ${authorization} ${url}/api/address/${address}/txs`,
    `    curl ${authorization} -d '{"jsonrpc":"2.0","id":1,"method":"getblockchaininfo"}' ${url}/`,
    `    websocat ${authorization} ${url.replace(/^http/, 'ws')}/ws`,
    '',
    `  Documentation: ${url}/docs`,
    '',
  ];
  return `${lines.join('\n')}\n`;
}
