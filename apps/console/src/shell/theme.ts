export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'rollcall.theme';
const NEXT: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' };

export function themeNow(): Theme {
  const stored = sessionStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'auto';
}

export function restoreTheme(): void {
  document.documentElement.dataset['theme'] = themeNow();
}

/** From the setting of the system to light, to dark, and back. */
export function nextTheme(): Theme {
  const theme = NEXT[themeNow()];
  sessionStorage.setItem(KEY, theme);
  restoreTheme();
  return theme;
}
