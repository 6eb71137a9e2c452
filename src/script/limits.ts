/** Bytes of a script before tapscript. */
export const MAX_SCRIPT_SIZE = 10_000;
/** Bytes of one stack item. */
export const MAX_SCRIPT_ELEMENT_SIZE = 520;
/** Operations other than pushes in a script before tapscript. */
export const MAX_OPS_PER_SCRIPT = 201;
export const MAX_PUBKEYS_PER_MULTISIG = 20;
/** Items on stack and altstack together. */
export const MAX_STACK_SIZE = 1000;
/** A locktime below is a height, from here on a time. */
export const LOCKTIME_THRESHOLD = 500_000_000;

export const WITNESS_V0_KEYHASH_SIZE = 20;
export const WITNESS_V0_SCRIPTHASH_SIZE = 32;
export const WITNESS_V1_TAPROOT_SIZE = 32;
/** BIP-341: first byte of an annex. */
export const ANNEX_TAG = 0x50;
