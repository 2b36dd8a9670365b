import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';

/** Unpacks Chromium and prints its path. The package unpacks into the temporary folder of its process. */
const UNPACK = `import('@sparticuz/chromium').then(async (it) => console.log(await it.default.executablePath()))`;

/** Options of the package that switch off what browsers of users check. */
const UNSAFE = new Set([
  '--single-process',
  '--disable-web-security',
  '--allow-running-insecure-content',
  '--disable-site-isolation-trials',
]);

/** Starts a real Chromium from an npm package, without its background requests to the network. */
export async function openBrowser(): Promise<Browser> {
  return await playwright.launch({
    executablePath: unpacked(),
    headless: true,
    args: [
      ...chromium.args.filter((arg) => !UNSAFE.has(arg)),
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  });
}

/** Returns the path of Chromium in a folder of this user. Users share no folder: one user cannot read or trust the files of another. */
function unpacked(): string {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `rollcall-chromium-${uid}`);
  if (existsSync(folder) && statSync(folder).uid === uid) return join(folder, 'chromium');
  const fresh = mkdtempSync(`${folder}.`);
  mkdirSync(fresh, { recursive: true, mode: 0o700 });
  const env = { ...process.env, TMPDIR: fresh };
  const program = execFileSync(process.execPath, ['-e', UNPACK], { env, encoding: 'utf8' }).trim();
  try {
    renameSync(fresh, folder); // so the folder is complete or absent, even if several suites unpack at the same time
  } catch {
    if (!existsSync(folder) || statSync(folder).uid !== uid) return program;
    rmSync(fresh, { recursive: true, force: true });
  }
  return join(folder, 'chromium');
}
