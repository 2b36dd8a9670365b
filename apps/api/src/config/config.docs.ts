import { ConfigSchema } from './config.schema.js';
import { listSettings, type SettingEntry } from './setting.js';

/** The reference table of docs/configuration.md. */
export function configurationTable(): string {
  const rows = listSettings(ConfigSchema).map(
    (entry) =>
      `| \`${entry.path.join('.')}\` | \`${entry.env}\` | ${defaultOf(entry, '–', (text) => `\`${text}\``)} | ${entry.about} |`,
  );
  return [
    '| in rollcall.yaml | in the environment | default | what it does |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

/** .env.example: every variable, commented out with its default. */
export function envExample(): string {
  const blocks = listSettings(ConfigSchema).map(
    (entry) => `# ${entry.about}\n#${entry.env}=${defaultOf(entry, '', onlyIfAValue)}`,
  );
  return `# Copy to .env and uncomment what you want to change. Made by: npm run docs\n\n${blocks.join('\n\n')}\n`;
}

function defaultOf(entry: SettingEntry, none: string, write: (text: string) => string): string {
  const value = entry.defaultText ?? (Array.isArray(entry.fallback) ? entry.fallback.join(',') : entry.fallback);
  return value === undefined || value === '' ? none : write(String(value));
}

/** A default that is told in words is no value to copy. */
function onlyIfAValue(text: string): string {
  return text.includes(' ') ? '' : text;
}
