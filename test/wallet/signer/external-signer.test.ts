import { describe, expect, test } from 'bun:test';
import { asciiBytes } from '../../../src/util/ascii-text.ts';
import { ExternalSigner } from '../../../src/wallet/signer/external-signer.ts';
import { WalletError } from '../../../src/wallet/wallet-error.ts';
import { SignerProgram } from './signer-program.ts';

const DEVICE = { fingerprint: '00000001', name: 'trezor_t' };

/** Returns the error of a call, which must be a WalletError with the code of Core. */
async function errorOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(() => null).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(WalletError);
  expect((error as WalletError).kind).toBe('misc');
  return (error as WalletError).message;
}

describe('the list of signers', () => {
  test('each fingerprint is listed once, with the model as its name', async () => {
    using program = new SignerProgram();
    program.answer('enumerate', [
      { fingerprint: '00000001', type: 'trezor', model: 'trezor_t' },
      { fingerprint: '00000001', type: 'trezor', model: 'trezor_t' },
      { fingerprint: '0000000A' },
    ]);
    expect(await program.signer().list()).toEqual([DEVICE, { fingerprint: '0000000A', name: '' }]);
    expect(program.args).toEqual(['enumerate']);
  });

  test.each([
    [{}, 'received invalid response, expected array of signers'],
    [[{ model: 'x' }], 'received invalid response, missing signer fingerprint'],
    [[{ fingerprint: '0000000g' }], 'received invalid fingerprint, must be 8 hex characters'],
    [[{ fingerprint: 1 }], 'received invalid fingerprint, must be 8 hex characters'],
    [[{ error: 'locked' }], 'error: locked'],
    [[{ error: 7 }], 'error'],
  ])('the answer %j is refused', async (answer, reason) => {
    using program = new SignerProgram();
    program.answer('enumerate', answer);
    expect(await errorOf(program.signer().list())).toBe(`'${program.command}' ${reason}`);
  });

  test('exactly one connected signer is used', async () => {
    using program = new SignerProgram();
    const signer = program.signer();
    expect(await signer.find()).toEqual(DEVICE);
    program.answer('enumerate', []);
    expect(await signer.find()).toEqual({ missing: 'No external signers found' });
    program.answer('enumerate', [{ fingerprint: '00000001' }, { fingerprint: '00000002' }]);
    expect(await errorOf(signer.only())).toStartWith('More than one external signer found.');
  });

  test('without a program the setting is named', async () => {
    const { signal } = new AbortController();
    const signer = new ExternalSigner({ command: null, chain: 'main', signal });
    expect(await errorOf(signer.list())).toContain('wallet.signer');
    expect(await signer.find()).toHaveProperty('missing');
  });
});

describe('the program', () => {
  test('gets its arguments as they are, since no shell reads them', async () => {
    using program = new SignerProgram();
    program.answer('displayaddress', { address: 'an address' });
    const descriptor = `wpkh([00000001/84h]'$(touch x)"; #y)`;
    await program.signer(60_000, '  --debug').displayAddress(DEVICE, descriptor, 'an address');
    expect(program.args).toEqual([
      '--debug',
      '--fingerprint',
      '00000001',
      '--chain',
      'regtest',
      'displayaddress',
      '--desc',
      descriptor,
    ]);
  });

  test('reads the transaction from its standard input', async () => {
    using program = new SignerProgram();
    program.answer('sign', { psbt: 'cHNidP8=' });
    const long = 'A'.repeat(300_000);
    const answer = await program.signer().sign(DEVICE, { pieces: [asciiBytes('cHNi'), asciiBytes(long)] });
    expect(answer).toEqual({ psbt: 'cHNidP8=' });
    expect(program.args).toEqual(['--stdin', '--fingerprint', '00000001', '--chain', 'regtest']);
    expect(program.input).toBe(`signtx cHNi${long}`);
    program.answer('sign', { error: 'cancelled' });
    expect(await program.signer().sign(DEVICE, { pieces: [] })).toEqual({ error: 'cancelled' });
    program.answer('sign', []);
    expect(await program.signer().sign(DEVICE, { pieces: [] })).toEqual({ error: 'Unexpected result from signer' });
  });

  test('an exit status, a missing program and output that is not JSON are reported', async () => {
    using program = new SignerProgram();
    const signer = program.signer();
    program.script('enumerate', 'echo first >&2; echo second >&2; exit 3');
    expect(await errorOf(signer.list())).toBe(
      `RunCommandParseJSON error: process(${program.command} enumerate) returned 3: first\n`,
    );
    program.script('enumerate', 'echo nothing');
    expect(await errorOf(signer.list())).toBe('Unable to parse JSON: nothing');
    expect(await errorOf(program.signer(1000, '-missing').list())).toBe('execve failed: No such file or directory');
  });

  test('its errors show no private key', async () => {
    using program = new SignerProgram();
    const key =
      'tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK';
    program.script('enumerate', `echo '${key}'`);
    expect(await errorOf(program.signer().list())).toBe('Unable to parse JSON: tprv…');
  });

  test('is ended with its children at its time limit', async () => {
    using program = new SignerProgram();
    program.script('enumerate', 'sleep 1000 & sleep 1000');
    expect(await errorOf(program.signer(200).list())).toBe(`${program.command} did not end within 0.2 seconds`);
    // The next call does not wait for it.
    program.answer('enumerate', []);
    expect(await program.signer().list()).toEqual([]);
  });

  test('is ended where it writes without an end', async () => {
    using program = new SignerProgram();
    program.script('enumerate', 'yes');
    expect(await errorOf(program.signer().list())).toBe(`${program.command} wrote more than 16777216 bytes`);
  });

  test('runs once at a time', async () => {
    using program = new SignerProgram();
    program.script('enumerate', 'mkdir "$0.lock" || exit 9; sleep 0.05; rmdir "$0.lock"; echo "[]"');
    const signer = program.signer();
    expect(await Promise.all([signer.list(), signer.list(), signer.list()])).toEqual([[], [], []]);
    const refused = await Promise.allSettled(Array.from({ length: 23 }, () => signer.list()));
    expect(refused.filter(({ status }) => status === 'rejected').length).toBe(2);
  });
});

describe('an address on a signer', () => {
  test.each([
    [{ error: 'no device' }, 'Signer returned error: no device'],
    [{}, 'Signer did not echo address'],
    [{ address: 'another' }, 'Signer echoed unexpected address another'],
  ])('the answer %j is an error', async (answer, error) => {
    using program = new SignerProgram();
    program.answer('displayaddress', answer);
    expect(await errorOf(program.signer().displayAddress(DEVICE, 'pkh()', 'an address'))).toBe(error);
  });
});
