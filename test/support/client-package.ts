import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
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
  exactOptionalPropertyTypes: true,
  module: 'nodenext',
  target: 'ES2022',
  lib: ['ES2022', 'DOM', 'DOM.Iterable'],
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules/@types')],
  rootDir: '.',
  outDir: 'out',
};

interface RunningProgram {
  readonly child: ChildProcess;
  /** What the program has printed so far, on both streams. */
  output(): string;
}

/** The project of a user in a temporary folder, in which the packed client is installed. */
export class ClientProject {
  private readonly folder = mkdtempSync(join(tmpdir(), 'rollcall-client-user-'));

  /** The folder of the installed package. */
  get installed(): string {
    return join(this.folder, 'node_modules/rollcall-client');
  }

  /** Packs the client with the program of `npm run pack:client`, and installs the file without a network. */
  async install(): Promise<void> {
    const packed = execFileSync(process.execPath, [join(ROOT, 'bin/pack-client.js'), this.folder], {
      encoding: 'utf8',
    });
    this.write('package.json', JSON.stringify({ type: 'module', private: true }));
    const flags = ['install', '--offline', '--no-audit', '--no-fund', '--install-links', packed.trim()];
    await run('npm', flags, { cwd: this.folder, timeout: TIMEOUT_MS });
  }

  /** Checks the types of programs, and compiles them. Returns the errors of all programs. */
  async compile(programs: Record<string, string>): Promise<string> {
    for (const [name, program] of Object.entries(programs)) this.write(`${name}.ts`, program);
    this.write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['*.ts'] }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    return await this.output(process.execPath, [tsc, '-p', this.folder, '--pretty', 'false']);
  }

  /** Runs a compiled program with a version of Node until it ends. */
  async start(program: string, environment: Record<string, string>, node = process.execPath): Promise<string> {
    return await this.output(node, [join(this.folder, `out/${program}.js`)], environment);
  }

  /** Starts a compiled program with a version of Node. */
  spawn(program: string, environment: Record<string, string>, node = process.execPath): RunningProgram {
    let printed = '';
    const child = spawn(node, [join(this.folder, `out/${program}.js`)], { env: environment });
    child.stdout.on('data', (chunk) => (printed += String(chunk)));
    child.stderr.on('data', (chunk) => (printed += String(chunk)));
    return { child, output: () => printed };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  private write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Returns the output on both streams. A failure throws no error: the output contains its reason. */
  private async output(program: string, flags: string[], env: Record<string, string> = {}): Promise<string> {
    const options = { cwd: this.folder, timeout: TIMEOUT_MS, env: { PATH: process.env['PATH'], ...env } };
    const { stdout, stderr } = await run(program, flags, options).catch(
      (error: unknown) => error as { stdout: string; stderr: string },
    );
    return stdout + stderr;
  }
}
