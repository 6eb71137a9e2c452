import { version } from '../../package.json';

declare const BUILD_COMMIT: string | undefined;

/** Version of this program, from package.json. */
export const VERSION: string = version;

/** Commit from which the executable was built; null when it runs from the sources. */
export const COMMIT: string | null = typeof BUILD_COMMIT === 'string' ? BUILD_COMMIT : null;
