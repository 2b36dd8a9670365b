import type { ReactNode } from 'react';
import { Link } from '@tanstack/react-router';
import { useTitle } from '../parts/parts.js';

export function NotFound(): ReactNode {
  useTitle('Not found');
  return (
    <section className="card">
      <h2>This page does not exist</h2>
      <p className="notice">
        The address names no screen of the console.{' '}
        <Link to="/" className="text-link">
          Go to the overview
        </Link>
        .
      </p>
    </section>
  );
}
