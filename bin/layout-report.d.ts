/** Which files declare which exported names. */
export interface Layout {
  declaredIn: Map<string, string[]>;
}
export function layoutOf(root: string): Layout;
export function namesDeclaredTwice(layout: Layout): [name: string, paths: string[]][];
