/** The name of a definition becomes the id of its agent. */
const DEFINITION_NAME = /^[A-Za-z0-9][\w.:-]{0,127}$/;
const MAX_LENGTH = 128;
const MAX_QUOTED = 80;

export function isDefinitionName(name: string): boolean {
  return DEFINITION_NAME.test(name);
}

/** A name in a message. It may be the invalid name of a request, so it is cut. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > MAX_QUOTED ? `${name.slice(0, MAX_QUOTED)}…` : name);
}

/** Proposes a valid name that is similar to the text: `Code Reviewer` becomes `code-reviewer`. Undefined if there is none. */
export function proposedName(text: string): string | undefined {
  const words = text
    .slice(0, MAX_LENGTH)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\w.:-]/);
  const name = words
    .filter((word) => word !== '')
    .join('-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, MAX_LENGTH);
  return isDefinitionName(name) ? name : undefined;
}
