import { version } from '../../package.json';

declare const BUILD_COMMIT: string | undefined;

/** Version of this program, from package.json. */
export const VERSION: string = version;

/** Commit the executable was built from; null when run from source. */
export const COMMIT: string | null = typeof BUILD_COMMIT === 'string' ? BUILD_COMMIT : null;
