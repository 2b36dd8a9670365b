/**
 * `npm run release -- 0.2.0`: gives the section "Unreleased" of CHANGELOG.md that version and today's date, sets the version of the
 * package, commits both, and creates the tag v0.2.0 with the section as its message. It pushes nothing. With `--dry-run`, it checks the
 * same conditions, prints the message of the tag, and changes nothing.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const UNRELEASED = '## Unreleased\n';
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/;

/**
 * Returns the new CHANGELOG.md and the text of the release.
 * @param {string} changelog @param {string} version @param {string} date
 */
export function released(changelog, version, date) {
  if (!VERSION.test(version)) throw new Error(`"${version}" is not a version such as 0.2.0.`);
  if (changelog.includes(`\n## ${version} `)) throw new Error(`CHANGELOG.md already has the version ${version}.`);
  const start = changelog.indexOf(UNRELEASED);
  if (start < 0) throw new Error('CHANGELOG.md has no section "## Unreleased".');
  const from = start + UNRELEASED.length;
  const next = changelog.indexOf('\n## ', from);
  const notes = changelog.slice(from, next < 0 ? undefined : next).trim();
  if (notes === '') throw new Error('The section "Unreleased" of CHANGELOG.md is empty.');
  const head = changelog.slice(0, start);
  const rest = changelog.slice(from).trimStart();
  return { changelog: `${head}${UNRELEASED}\n## ${version} - ${date}\n\n${rest}`, notes };
}

/** The latest version in CHANGELOG.md; undefined before the first release. @param {string} changelog */
export function latestVersion(changelog) {
  return /^## (\d\S*) - \d{4}-\d\d-\d\d$/m.exec(changelog)?.[1];
}

function release(version, isDryRun) {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  if (git('status', '--porcelain') !== '') throw new Error('Commit or remove your changes first.');
  const { changelog, notes } = released(
    readFileSync('CHANGELOG.md', 'utf8'),
    version,
    new Date().toISOString().slice(0, 10),
  );
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`The tag v${version} exists.`);
  if (isDryRun)
    return console.log(`Rollcall ${version}\n\n${notes}\n\nDry run: no commit and no tag v${version} was created.`);
  writeFileSync('CHANGELOG.md', changelog);
  execFileSync('npm', ['version', version, '--no-git-tag-version'], { stdio: 'inherit' });
  git('commit', '--all', '--message', `chore: release ${version}`);
  git('tag', '--annotate', `v${version}`, '--cleanup=verbatim', '--message', `Rollcall ${version}\n\n${notes}`);
  console.log(`Created the commit and the tag v${version}. Publish them with: git push --follow-tags`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { 'dry-run': { type: 'boolean' } } });
    release(positionals[0] ?? '', values['dry-run'] === true);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
