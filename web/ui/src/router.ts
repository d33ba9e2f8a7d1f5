import { createRouter, createWebHistory } from 'vue-router'
import ProgrammeView from './views/ProgrammeView.vue'

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/', name: 'programme', component: ProgrammeView },
    {
      path: '/showings/:id',
      name: 'showing',
      component: () => import('./views/ShowingView.vue'),
      props: true,
    },
    { path: '/bookings', name: 'bookings', component: () => import('./views/BookingsView.vue') },
    {
      path: '/bookings/:id',
      name: 'booking',
      component: () => import('./views/BookingView.vue'),
      props: true,
    },
    { path: '/:path(.*)*', name: 'missing', component: () => import('./views/NotFoundView.vue') },
  ],
  scrollBehavior: (_to, _from, saved) => saved ?? { top: 0 },
})
