import { useEffect, useState } from 'preact/hooks';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const WORDS = { system: 'Theme of the system', light: 'Light theme', dark: 'Dark theme' } as const;
const SIGNS = { system: '◐', light: '☀', dark: '☾' } as const;
const KEY = 'obverse-theme';
const DARK = '(prefers-color-scheme: dark)';

/** Switches between the theme of the system, light and dark, and remembers the choice in this browser. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(stored);
  useEffect(() => {
    const { dataset } = document.documentElement;
    if (theme === 'system') delete dataset.theme;
    else dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // The browser keeps nothing for this page: the choice lasts until it is closed.
    }
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  return (
    <button type="button" class="icon" title={WORDS[theme]} onClick={() => setTheme(next)}>
      <span aria-hidden="true">{SIGNS[theme]}</span>
      <span class="hidden">
        {WORDS[theme]}. Change to: {WORDS[next]}
      </span>
    </button>
  );
}

/** Returns the colours that the page shows now, and renders again when they change. */
export function useColours(): 'light' | 'dark' {
  const [colours, setColours] = useState(shown);
  useEffect(() => {
    const update = () => setColours(shown());
    const system = matchMedia(DARK);
    const observer = new MutationObserver(update);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    system.addEventListener('change', update);
    return () => {
      observer.disconnect();
      system.removeEventListener('change', update);
    };
  }, []);
  return colours;
}

function shown(): 'light' | 'dark' {
  const { theme } = document.documentElement.dataset;
  if (theme === 'light' || theme === 'dark') return theme;
  return matchMedia(DARK).matches ? 'dark' : 'light';
}

function stored(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === found) ?? 'system';
  } catch {
    return 'system';
  }
}
