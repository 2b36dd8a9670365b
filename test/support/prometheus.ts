/** One line of the text format of Prometheus. */
export interface Series {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
}

/** A metric of a query with its conditions, such as `rollcall_agents{status="active"}`. */
export interface Selector {
  readonly name: string;
  readonly conditions: readonly Condition[];
}

interface Condition {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

/** Labels that Prometheus adds to every series when it scrapes. */
export const SCRAPE_LABELS = ['job', 'instance'];

export function seriesOf(exposition: string): Series[] {
  const lines = exposition.matchAll(/^(\w+)(?:\{(.*)\})? /gm);
  return [...lines].map(([, name = '', labels = '']) => ({ name, labels: labelsOf(labels) }));
}

/** The labels inside the braces of a series. */
function labelsOf(text: string): Map<string, string> {
  return new Map([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', value = '']) => [label, value]));
}

export function selectorsOf(expr: string): Selector[] {
  const found = expr.matchAll(/\b(rollcall_\w+)(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = '', conditions = '']) => ({ name, conditions: conditionsOf(conditions) }));
}

function conditionsOf(text: string): Condition[] {
  const all = [...text.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)];
  return all.map(([, label = '', operator = '', value = '']) => ({ label, operator, value }));
}

/** Whether the selector returns the series. The labels of the scrape are always accepted. */
export function selects({ name, conditions }: Selector, series: Series): boolean {
  const own = conditions.filter(({ label }) => !SCRAPE_LABELS.includes(label));
  return series.name === name && own.every((condition) => accepts(condition, series.labels.get(condition.label) ?? ''));
}

function accepts({ operator, value }: Condition, actual: string): boolean {
  const equal = operator.includes('~') ? new RegExp(`^(?:${value})$`).test(actual) : value === actual;
  return operator.startsWith('!') ? !equal : equal;
}

/** Returns the labels of the result of a query: the labels by which it aggregates, or `all` if it does not aggregate. */
export function resultLabelsOf(expr: string, all: readonly string[]): string[] {
  const isAggregated = /\b(sum|max|min|avg|count)\b/.test(expr);
  const grouped = [...expr.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/\s*,\s*/));
  return isAggregated ? grouped : [...all];
}
