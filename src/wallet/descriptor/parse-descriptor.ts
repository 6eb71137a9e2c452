import { parseAddress } from '../../script/address.ts';
import { MAX_PUBKEYS_PER_MULTISIG, MAX_SCRIPT_ELEMENT_SIZE } from '../../script/script-limits.ts';
import { hexToBytes, isHex } from '../../util/bytes.ts';
import { hideSecrets } from '../keys/hide-secrets.ts';
import { parseUint32 } from '../keys/key-path.ts';
import { SigningData } from '../keys/signing-data.ts';
import { checkChecksum } from './checksum.ts';
import type { KeyEncoding, ParsedDescriptors } from './descriptor.ts';
import type { DescriptorNode } from './descriptor-node.ts';
import { DescriptorError, descriptorFail, ExpressionReader, withPrefix, zipPaths } from './expression-reader.ts';
import type { KeyExpression } from './key-expression.ts';
import { ComboNode, PkhNode, PkNode, RawTrNode, UnusedNode, WpkhNode } from './key-nodes.ts';
import { MAX_PUBKEYS_PER_MULTI_A } from './miniscript/fragment.ts';
import { parseMiniscriptNodes } from './miniscript-descriptor.ts';
import { parseKey } from './parse-key.ts';
import type { ParseContext, ParseState } from './parse-state.ts';
import { parseTaproot } from './parse-taproot.ts';
import { MultiANode, MultiNode, OutputNode, ShNode, WshNode } from './script-nodes.ts';

/** Maximum length of a descriptor, characters: ten times a multi_a() with the maximum number of extended keys. */
const MAX_TEXT = 1_500_000;
/** Maximum total length of the descriptors that one multipath descriptor expands to, characters. */
const MAX_MULTIPATH_TEXT = 128_000_000;
/** Maximum number of keys of a bare multisig. */
const MAX_BARE_KEYS = 3;

/**
 * Reads an output descriptor of a network, with the checksum or without unless that is required. Errors are Core's, but
 * for private keys in them; empty where text is left over behind a function.
 */
export function parseDescriptor(
  text: string,
  encoding: KeyEncoding,
  { requireChecksum = false }: { readonly requireChecksum?: boolean } = {},
): ParsedDescriptors {
  if (text.length > MAX_TEXT) return { ok: false, error: 'Descriptor is too long' };
  const checked = checkChecksum(text, requireChecksum);
  if (!checked.ok) return checked;
  const state: ParseState = { encoding, keys: new SigningData(), keyCount: 0 };
  try {
    const reader = new ExpressionReader(checked.payload);
    const descriptors = parseScript(reader, 'top', state);
    if (!reader.done) return { ok: false, error: '' };
    if (descriptors.length > 1 && descriptors.length * descriptors[0]!.toString().length > MAX_MULTIPATH_TEXT)
      return { ok: false, error: 'Multipath descriptor is too long' };
    return { ok: true, descriptors, keys: state.keys };
  } catch (error) {
    if (error instanceof DescriptorError) return { ok: false, error: hideSecrets(error.message) };
    throw error;
  }
}

/** Parses the next function; several nodes if it has multipath keys. */
function parseScript(outer: ExpressionReader, context: ParseContext, state: ParseState): readonly DescriptorNode[] {
  const reader = new ExpressionReader(outer.argument());
  const isTop = context === 'top';
  const isTopOrSh = isTop || context === 'sh';
  const isLegacyOrWsh = isTopOrSh || context === 'wsh';
  const key = (name: string, inner = context) => withPrefix(`${name}(): `, () => parseKey(reader.rest, inner, state));

  if (reader.enter('pk')) return key('pk').map((one) => new PkNode(one, context === 'tr'));
  if (isLegacyOrWsh && reader.enter('pkh')) return key('pkh').map((one) => new PkhNode(one));
  if (reader.enter('combo')) {
    if (!isTop) descriptorFail('Can only have combo() at top level');
    return key('combo').map((one) => new ComboNode(one));
  }
  for (const name of ['multi', 'sortedmulti'])
    if (reader.enter(name)) {
      if (!isLegacyOrWsh) descriptorFail('Can only have multi/sortedmulti at top level, in sh(), or in wsh()');
      const { threshold, sets } = parseMulti(reader, context, state);
      return sets.map((keys) => new MultiNode(threshold, keys, name === 'sortedmulti'));
    }
  for (const name of ['multi_a', 'sortedmulti_a'])
    if (reader.enter(name)) {
      if (context !== 'tr') descriptorFail('Can only have multi_a/sortedmulti_a inside tr()');
      const { threshold, sets } = parseMulti(reader, context, state);
      return sets.map((keys) => new MultiANode(threshold, keys, name === 'sortedmulti_a'));
    }
  if (reader.enter('wpkh')) {
    if (!isTopOrSh) descriptorFail('Can only have wpkh() at top level or inside sh()');
    return key('wpkh', 'wpkh').map((one) => new WpkhNode(one));
  }
  if (reader.enter('sh')) {
    if (!isTop) descriptorFail('Can only have sh() at top level');
    return parseInner(reader, 'sh', state).map((node) => new ShNode(node));
  }
  if (reader.enter('wsh')) {
    if (!isTopOrSh) descriptorFail('Can only have wsh() at top level or inside sh()');
    return parseInner(reader, 'wsh', state).map((node) => new WshNode(node));
  }
  if (reader.enter('addr')) {
    if (!isTop) descriptorFail('Can only have addr() at top level');
    const address = parseAddress(reader.rest, state.encoding.address);
    const node = address.ok ? OutputNode.address(address.script, state.encoding.address) : null;
    return [node ?? descriptorFail('Address is not valid')];
  }
  if (reader.enter('tr')) {
    if (!isTop) descriptorFail('Can only have tr at top level');
    return parseTaproot(reader, state, (script) => parseScript(script, 'tr', state));
  }
  if (reader.enter('rawtr')) {
    if (!isTop) descriptorFail('Can only have rawtr at top level');
    const argument = reader.argument();
    if (!reader.done) descriptorFail('rawtr(): only one key expected.');
    const keys = withPrefix('rawtr(): ', () => parseKey(argument, 'tr', state));
    return keys.map((one) => new RawTrNode(one));
  }
  if (reader.enter('unused')) {
    if (!isTop) descriptorFail('Can only have unused at top level');
    const argument = reader.argument();
    if (!reader.done) descriptorFail('unused(): only one key expected');
    const keys = parseKey(argument, context, state);
    if (keys.some(({ isRange }) => isRange)) descriptorFail('unused(): key cannot be ranged');
    return keys.map((one) => new UnusedNode(one));
  }
  if (reader.enter('raw')) {
    if (!isTop) descriptorFail('Can only have raw() at top level');
    if (reader.done || !isHex(reader.rest)) descriptorFail('Raw script is not hex');
    return [OutputNode.raw(hexToBytes(reader.rest))];
  }
  const miniscript = parseMiniscriptNodes(reader.rest, context, state);
  if (miniscript !== null) return miniscript;
  if (context === 'sh') descriptorFail('A function is needed within P2SH');
  if (context === 'wsh') descriptorFail('A function is needed within P2WSH');
  return descriptorFail(`'${reader.rest}' is not a valid descriptor function`);
}

/** Parses the whole script in sh() or wsh(). */
function parseInner(reader: ExpressionReader, context: ParseContext, state: ParseState): readonly DescriptorNode[] {
  const nodes = parseScript(reader, context, state);
  return reader.done ? nodes : descriptorFail('');
}

function parseMulti(
  reader: ExpressionReader,
  context: ParseContext,
  state: ParseState,
): { readonly threshold: number; readonly sets: readonly KeyExpression[][] } {
  const digits = reader.argument();
  const threshold = parseUint32(digits) ?? descriptorFail(`Multi threshold '${digits}' is not valid`);
  const keys: (readonly KeyExpression[])[] = [];
  let scriptSize = 0;
  while (!reader.done) {
    if (!reader.skip(',')) descriptorFail(`Multi: expected ',', got '${reader.rest[0]}'`);
    const argument = reader.argument();
    const paths = withPrefix('Multi: ', () => parseKey(argument, context, state));
    scriptSize += paths[0]!.size + 1;
    keys.push(paths);
  }
  const [name, limit] =
    context === 'tr'
      ? (['multi_a', MAX_PUBKEYS_PER_MULTI_A] as const)
      : (['multisig', MAX_PUBKEYS_PER_MULTISIG] as const);
  const count = keys.length;
  if (count === 0 || count > limit)
    descriptorFail(`Cannot have ${count} keys in ${name}; must have between 1 and ${limit} keys, inclusive`);
  if (threshold < 1) descriptorFail(`Multisig threshold cannot be ${threshold}, must be at least 1`);
  if (threshold > count)
    descriptorFail(
      `Multisig threshold cannot be larger than the number of keys; threshold is ${threshold} but only ${count} keys specified`,
    );
  if (context === 'top' && count > MAX_BARE_KEYS)
    descriptorFail(`Cannot have ${count} pubkeys in bare multisig; only at most 3 pubkeys`);
  if (context === 'sh' && scriptSize + 3 > MAX_SCRIPT_ELEMENT_SIZE)
    descriptorFail(`P2SH script is too large, ${scriptSize + 3} bytes is larger than 520 bytes`);
  const sets = zipPaths(keys, Math.max(...keys.map(({ length }) => length)));
  return { threshold, sets: sets ?? descriptorFail('multi(): Multipath derivation paths have mismatched lengths') };
}
