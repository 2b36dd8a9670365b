import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { loadFromDirectory } from '#rollcall/agent-runtime';
import { median } from './support/compare.js';
import { requireAtLeast } from './support/target.js';

/**
 * Compares loading a folder of spec files with reading the same files and parsing their front matter with `yaml` alone, in
 * alternating rounds with the same number of files at a time. One file in ten has a description that is not valid YAML: the
 * loader recovers it, the bare parser only throws.
 */
const FILES = 5_000;
const FILES_PER_FOLDER = 100;
const FILES_AT_A_TIME = 32;
const ROUNDS = 5;
const TARGET = 0.5;
const KNOWN_TOOLS = ['http_fetch', 'calculator', 'spawn_subagent'];

const PARAGRAPH = 'Read the change first. Report each problem with its file and line, and propose a fix.\n'.repeat(5);

function specText(index: number): string {
  const description =
    index % 10 === 0
      ? `Use this agent when: change ${index} is ready`
      : `"Reviews change ${index}. Use it after each change."`;
  const tools = ['', 'tools: Read, Grep, http_fetch\n', 'tools:\n  - calculator\n  - mcp__github\n'][index % 3] ?? '';
  const header = `name: agent-${index}\ndescription: ${description}\n${tools}model: sonnet\ncolor: blue\nmaxTurns: 20\n`;
  return `---\n${header}---\n\nYou are reviewer ${index}.\n\n${PARAGRAPH}\n${PARAGRAPH}\n${PARAGRAPH}`;
}

async function writeSpecs(root: string): Promise<void> {
  for (let index = 0; index < FILES; index++) {
    const folder = join(root, `team-${Math.floor(index / FILES_PER_FOLDER)}`);
    if (index % FILES_PER_FOLDER === 0) await mkdir(folder);
    await writeFile(join(folder, `agent-${index}.md`), specText(index));
  }
}

/** Returns the number of files with valid YAML. */
async function parseBare(root: string): Promise<number> {
  const all = await readdir(root, { recursive: true });
  const files = all.filter((file) => file.endsWith('.md'));
  let parsed = 0;
  const parseFile = async (file: string): Promise<void> => {
    const text = await readFile(join(root, file), 'utf8');
    try {
      parse(text.slice(4, text.indexOf('\n---', 4)));
      parsed += 1;
    } catch {
      // a description that is not valid YAML
    }
  };
  for (let start = 0; start < files.length; start += FILES_AT_A_TIME)
    await Promise.all(files.slice(start, start + FILES_AT_A_TIME).map(parseFile));
  return parsed;
}

async function load(root: string): Promise<number> {
  const { loaded, rejected } = await loadFromDirectory(root, { knownTools: KNOWN_TOOLS, knownModels: ['fast'] });
  if (rejected.length > 0) throw new Error(`rejected: ${rejected[0]?.message}`);
  return loaded.length;
}

async function filesPerSecond(pass: () => Promise<number>, expected: number): Promise<number> {
  const started = performance.now();
  const count = await pass();
  if (count !== expected) throw new Error(`${count} instead of ${expected} files were read`);
  return (FILES * 1_000) / (performance.now() - started);
}

const show = (rate: number): string => Math.round(rate).toLocaleString('en').padStart(8);

const root = await mkdtemp(join(tmpdir(), 'bench-specs-'));
try {
  await writeSpecs(root);
  const rounds: { bare: number; loader: number }[] = [];
  for (let round = 0; round <= ROUNDS; round++)
    rounds.push({
      bare: await filesPerSecond(async () => await parseBare(root), FILES * 0.9),
      loader: await filesPerSecond(async () => await load(root), FILES),
    });
  rounds.shift(); // the first round is the warm-up
  console.log(`\n${FILES.toLocaleString('en')} spec files`);
  console.log(`  read and parsed by yaml   ${show(median(rounds.map(({ bare }) => bare)))} files/s`);
  console.log(`  loaded by Rollcall        ${show(median(rounds.map(({ loader }) => loader)))} files/s`);
  requireAtLeast(TARGET, median(rounds.map(({ bare, loader }) => loader / bare)), 'Rollcall / bare yaml');
} finally {
  await rm(root, { recursive: true, force: true });
}
