import type { FuzzTarget } from './target.ts';
import { CODEC_TARGETS } from './targets/codecs.ts';
import { P2P_TARGETS } from './targets/p2p.ts';
import { SCRIPT_TARGETS } from './targets/scripts.ts';
import { TEXT_TARGETS } from './targets/texts.ts';

export const TARGETS: readonly FuzzTarget[] = [...CODEC_TARGETS, ...TEXT_TARGETS, ...SCRIPT_TARGETS, ...P2P_TARGETS];
