import {
  ChartColumn,
  FileText,
  Gavel,
  History as HistoryIcon,
  House,
  KeyRound,
  MessageSquare,
  Rows3,
  Search,
  SquarePlay,
} from 'lucide-react';
import type { Permission } from '../session/session.js';

export interface NavItem {
  /** The path of a route of the router. */
  readonly to: string;
  readonly label: string;
  readonly icon: typeof House;
  readonly needs: Permission;
}

interface NavGroup {
  readonly title?: string;
  readonly items: readonly NavItem[];
}

/** The screens in their order. Callers see the screens for which they have the permission. */
export const NAVIGATION: readonly NavGroup[] = [
  {
    items: [
      { to: '/', label: 'Overview', icon: House, needs: 'agents:read' },
      { to: '/fleet', label: 'Fleet', icon: Rows3, needs: 'agents:read' },
      { to: '/who', label: 'Who is picked?', icon: Search, needs: 'agents:query' },
      { to: '/runs', label: 'Runs', icon: SquarePlay, needs: 'runs:read' },
      { to: '/try', label: 'Try it', icon: MessageSquare, needs: 'runs:start' },
    ],
  },
  {
    title: 'Govern',
    items: [
      { to: '/budgets', label: 'Budgets', icon: ChartColumn, needs: 'budgets:read' },
      { to: '/definitions', label: 'Definitions', icon: FileText, needs: 'definitions:read' },
      { to: '/contracts', label: 'Contracts', icon: Gavel, needs: 'contracts:read' },
    ],
  },
  {
    title: 'Operate',
    items: [
      { to: '/history', label: 'History', icon: HistoryIcon, needs: 'events:read' },
      { to: '/access', label: 'Access', icon: KeyRound, needs: 'namespaces:read' },
    ],
  },
];
