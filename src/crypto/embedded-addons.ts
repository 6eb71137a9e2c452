import darwinArm64 from 'secp256k1/prebuilds/darwin-arm64/secp256k1.node' with { type: 'file' };
import linuxX64Glibc from 'secp256k1/prebuilds/linux-x64/secp256k1.glibc.node' with { type: 'file' };
import linuxX64Musl from 'secp256k1/prebuilds/linux-x64/secp256k1.musl.node' with { type: 'file' };

/**
 * Paths of the addons inside the executable. The bundler embeds these files because of the imports above. The module
 * must not be loaded from the sources, since the runtime refuses to import an addon as a file.
 */
export const EMBEDDED_ADDONS: Readonly<Record<string, string>> = {
  'darwin-arm64/secp256k1.node': darwinArm64,
  'linux-x64/secp256k1.glibc.node': linuxX64Glibc,
  'linux-x64/secp256k1.musl.node': linuxX64Musl,
};
