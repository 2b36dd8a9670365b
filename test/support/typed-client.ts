import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
/** A program that takes longer is killed. */
const TIMEOUT_MS = 120_000;

const COMPILER_OPTIONS = {
  strict: true,
  noUncheckedIndexedAccess: true,
  module: 'nodenext',
  target: 'ES2023',
  lib: ['ES2023', 'DOM', 'DOM.Iterable'],
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules/@types')],
  rootDir: '.',
  outDir: 'out',
};

/** The project of a user in a temporary folder, with a generated client in `rollcall/`. */
export class ClientProject {
  private readonly folder = mkdtempSync(join(tmpdir(), 'rollcall-client-'));

  /** Runs the program of `npm run client`. */
  async generate(document: string): Promise<string> {
    return await this.node([join(ROOT, 'bin/client.js'), join(this.folder, 'rollcall'), document]);
  }

  /** Checks the types of the client and of this program, and compiles both. */
  async compile(program: string): Promise<string> {
    this.write('program.ts', program);
    this.write('package.json', JSON.stringify({ type: 'module' }));
    this.write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['**/*.ts'] }));
    return await this.node([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', this.folder, '--pretty', 'false']);
  }

  async start(environment: Record<string, string>): Promise<string> {
    return await this.node([join(this.folder, 'out/program.js')], environment);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  private write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Returns the output on both streams. A failure throws no error: the output contains its reason. */
  private async node(flags: string[], env: Record<string, string> = {}): Promise<string> {
    const options = { cwd: this.folder, timeout: TIMEOUT_MS, env: { PATH: process.env['PATH'], ...env } };
    const { stdout, stderr } = await run(process.execPath, flags, options).catch(
      (error: unknown) => error as { stdout: string; stderr: string },
    );
    return stdout + stderr;
  }
}
