"""What people see of a plan: one view model for the terminal, `-o json` and the web page."""

from tonnage.reporting.plan.viewing import view_plan
from tonnage.reporting.plan.views import PlanView

__all__ = ["PlanView", "view_plan"]
