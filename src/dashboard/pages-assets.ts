import { bundleScript, bundleStyle } from './pages-bundle.ts' with { type: 'macro' };

/** The browser code of the dashboard, one ES module. */
export const PAGES_SCRIPT: string = bundleScript();
/** The style sheet of the dashboard. */
export const PAGES_STYLE: string = bundleStyle();
