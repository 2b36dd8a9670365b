import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** This version of Node, and other versions for programs of readers. CONTRIBUTING.md explains how to get them. */
export const NODES = [
  process.execPath,
  ...(process.env['CLIENT_NODES'] ?? '').split(':').filter((path) => path !== ''),
];

export interface RunningExample {
  /** The text that the program has printed so far, on both streams. */
  output(): string;
  child: ChildProcess;
}

/** Returns the first example in this language on a page of the documentation. */
export function exampleOf(page: string, language: string): string {
  const [code] = examplesOf(page, language);
  if (code === undefined) throw new Error(`docs/${page} has no example in ${language}`);
  return code;
}

/** Returns all examples in this language on a page of the documentation. */
export function examplesOf(page: string, language: string): string[] {
  const text = readFileSync(resolve(import.meta.dirname, '../../docs', page), 'utf8');
  return [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code = '']) => code);
}

/** Runs examples of the documentation as separate processes, as a reader would. */
export class ExampleRunner {
  private readonly folder = mkdtempSync(join(tmpdir(), 'rollcall-docs-'));
  private readonly children: ChildProcess[] = [];

  constructor(private readonly environment: Record<string, string>) {}

  node(code: string): RunningExample {
    const script = join(this.folder, `example-${this.children.length}.mjs`);
    writeFileSync(script, code);
    return this.run(process.execPath, [script]);
  }

  /** Runs a program of the `examples` folder, with Node or with another interpreter. */
  program(name: string, environment: Record<string, string> = {}, interpreter = process.execPath): RunningExample {
    const script = resolve(import.meta.dirname, '../../examples', name);
    return this.run(interpreter, [script], environment);
  }

  shell(code: string): RunningExample {
    return this.run('sh', ['-c', `exec ${code.trim()}`]);
  }

  /** Runs several commands. The script ends at the first command that fails. */
  script(code: string): RunningExample {
    return this.run('sh', ['-ec', code]);
  }

  stop(): void {
    for (const child of this.children) child.kill();
    rmSync(this.folder, { recursive: true });
  }

  private run(program: string, flags: string[], environment: Record<string, string> = {}): RunningExample {
    let printed = '';
    const env = { PATH: process.env['PATH'] ?? '', ...shellVariables(this.environment), ...environment };
    const child = spawn(program, flags, { env });
    this.children.push(child);
    child.stdout.on('data', (chunk) => (printed += String(chunk)));
    child.stderr.on('data', (chunk) => (printed += String(chunk)));
    return { child, output: () => printed };
  }
}

/** The variables of programs and of shell commands in the documentation. */
export function shellVariables(server: Record<string, string>): Record<string, string> {
  return {
    ...server,
    AUTH: `Authorization: Bearer ${server['ROLLCALL_KEY'] ?? ''}`,
    JSON: 'Content-Type: application/json',
  };
}
