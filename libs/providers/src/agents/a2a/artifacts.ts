import type { Artifact } from '@a2a-js/sdk';
import { dataOf, textOf } from './a2a.mapper.js';

interface Content {
  text: string;
  data: unknown[];
}

/** Collects the artifacts of a task. An agent may send an artifact in parts, as a whole, or both; each part counts once. */
export class Artifacts {
  private readonly contents = new Map<string, Content>();

  /** Adds a part of an artifact, or replaces the artifact, and returns the new text. */
  put(id: string, { parts }: Pick<Artifact, 'parts'>, append: boolean): string {
    const before = this.contents.get(id) ?? { text: '', data: [] };
    const [text, data] = [textOf(parts), dataOf(parts)];
    if (append) {
      this.contents.set(id, { text: before.text + text, data: [...before.data, ...data] });
      return text;
    }
    this.contents.set(id, { text, data });
    return text.startsWith(before.text) ? text.slice(before.text.length) : text;
  }

  get text(): string {
    return [...this.contents.values()].map(({ text }) => text).join('');
  }

  get data(): unknown[] {
    return [...this.contents.values()].flatMap(({ data }) => data);
  }
}
